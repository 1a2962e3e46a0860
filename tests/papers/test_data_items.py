"""lufkin2024/fig2, fig4, kur-kurtosis and proposition3.3 at smoke scale: which verdicts they must have."""

import pytest

from prunefield.papers import SCALES
from prunefield.papers.lufkin2024.fig4 import Fig4
from prunefield.papers.lufkin2024.proposition3_3 import Proposition3_3
from prunefield.report.ledger import find_items, read_finding
from prunefield.runs.flow import Flow
from prunefield.runs.neuron import Neuron

YES, NO, MENDED, UNKNOWN = "reproduced", "not reproduced", "corrected", "not testable at this scale"
EXPECTED = {
    "fig2": [YES, YES, MENDED, MENDED],
    "kur-kurtosis": [YES, MENDED, YES, MENDED],
    "proposition3.3": [YES, YES, YES, UNKNOWN],  # its fields are those of fig4, with larger steps than the authors'
}


@pytest.mark.parametrize("name", EXPECTED)
def test_verdicts(name, smoke):
    (item,) = find_items([f"lufkin2024/{name}"])
    found = read_finding(smoke, item, "smoke")
    assert found is not None
    assert [row.verdict.status for row in found.rows] == EXPECTED[name]


def test_noise_is_not_mistaken_for_a_failure(smoke):
    """The steps of fig4 at smoke scale are noisier than the authors': what fails there is not testable."""
    found = read_finding(smoke, Fig4(), "smoke")
    assert found is not None
    assert NO not in [row.verdict.status for row in found.rows]
    assert all(row.null is not None and row.null.status == NO for row in found.rows)
    ended = found.table.query("source == 'end of flow'").set_index(["model", "init"])
    ideal = found.table.copy()
    names = ["frequency", "constant", "error", "shifted_error", "ipr"]
    for index, row in found.table.query("source == 'simulated'").iterrows():
        ideal.loc[[index], names] = ended.loc[[(row["model"], row["init"])], names].to_numpy()
    assert [claim.check(ideal).status for claim in Fig4.claims] == [*[YES] * 7, MENDED]


def test_both_elliptical_items_share_their_runs():
    for scale in SCALES:
        fig4, proposition = (item.plan(scale) for item in (Fig4(), Proposition3_3()))
        shared = {run.id for run in fig4} & {run.id for run in proposition}
        others = [run for run in fig4 if run.id not in shared]
        assert all(isinstance(run, Neuron) and run.task.title == "Student-t(3)" for run in others)


def test_every_simulated_field_of_fig4_has_its_own_stream_and_its_own_flow():
    for scale in SCALES:
        runs = Fig4().plan(scale)
        neurons = [run for run in runs if isinstance(run, Neuron)]
        assert all(run.inits == 1 for run in neurons)
        streams = {(run.task.title, run.seed) for run in neurons}
        assert len(streams) == len(neurons)
        starts = {(run.task.title, run.seed, run.init_scale) for run in runs if isinstance(run, Flow)}
        assert {(run.task.title, run.seed, run.init_scale) for run in neurons} <= starts


def test_fields_of_fig4_are_counted_by_streams(smoke):
    found = read_finding(smoke, Fig4(), "smoke")
    assert found is not None
    runs = [run for run in Fig4().runs("smoke") if isinstance(run, Neuron)]
    for row in found.rows[:6]:
        assert row.verdict.n == sum(run.task.title in row.claim.text for run in runs)


def test_a_field_with_an_intercept_is_judged_with_it_and_without_is_said(smoke):
    """§4.3 allows nonzero intercepts: 0.04 and a sinusoid of a third of that is not a misfit."""
    found = read_finding(smoke, Fig4(), "smoke")
    assert found is not None
    table = found.table.assign(shifted_error=0.02, error=0.3)
    for claim in Fig4.claims[3:6]:
        verdict = claim.check(table)
        assert verdict.status == YES
        assert "2.0%" in verdict.observed
        assert "30.0%" in verdict.observed


def test_a_height_fits_the_exact_flow_or_neither():
    """`ideal()` is Eq. 11 as printed."""
    table = Proposition3_3().ideal()
    *_, scale = Proposition3_3.claims
    theory = table.query("source == 'theory' and frequency == 0").set_index("model")["height"]
    simulated = table["source"] == "simulated"
    for factor, status in ((1.0, MENDED), (0.7, NO)):
        height = table["model"].map(dict(theory)) * factor
        assert scale.check(table.assign(height=table["height"].mask(simulated, height))).status == status


def test_the_flow_of_ising_data_is_that_of_fig3():
    (fig3,) = find_items(["lufkin2024/fig3"])
    assert {run.id for run in Fig4().runs("smoke")} & {run.id for run in fig3.runs("smoke")}
