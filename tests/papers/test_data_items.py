"""lufkin2024/fig2, fig4, kur-kurtosis and proposition3.3 at smoke scale: which verdicts they must have."""

import pytest

from prunefield.ledger import items, settle
from prunefield.papers import SCALES
from prunefield.papers.lufkin2024.fig4 import Fig4
from prunefield.papers.lufkin2024.proposition3_3 import Proposition3_3

YES, NO, MENDED = "reproduced", "not reproduced", "corrected"
EXPECTED = {
    "fig2": [YES, YES, MENDED, MENDED],
    "kur-kurtosis": [YES, MENDED, YES, MENDED],
    "proposition3.3": [YES, YES, YES, MENDED],
}


@pytest.mark.parametrize("name", EXPECTED)
def test_verdicts(name, smoke):
    (item,) = items([f"lufkin2024/{name}"])
    found = settle(smoke, item, "smoke")
    assert found is not None
    assert [row.verdict.status for row in found.rows] == EXPECTED[name]


def test_noise_is_not_mistaken_for_a_failure(smoke):
    """The steps of fig4 at smoke scale are noisier than the authors': what fails there is not testable."""
    found = settle(smoke, Fig4(), "smoke")
    assert found is not None
    assert NO not in [row.verdict.status for row in found.rows]
    quiet = found.table.assign(noise=0.0)
    assert all(claim.check(claim.null(quiet)).status == NO for claim in Fig4.claims if claim.null)
    ended = found.table.query("source == 'end of flow'").set_index(["model", "init"])
    ideal = found.table.assign(noise=0.0)
    names = ["frequency", "constant", "error", "ipr"]
    for index, row in found.table.query("source == 'simulated'").iterrows():
        ideal.loc[[index], names] = ended.loc[[(row["model"], row["init"])], names].to_numpy()
    assert [claim.check(ideal).status for claim in Fig4.claims] == [*[YES] * 7, MENDED]


def test_both_elliptical_items_share_their_runs():
    for scale in SCALES:
        fig4, proposition = ({run.id for run in item.runs(scale)} for item in (Fig4(), Proposition3_3()))
        assert len(fig4 & proposition) == 6


def test_the_flow_of_ising_data_is_that_of_fig3():
    (fig3,) = items(["lufkin2024/fig3"])
    assert {run.id for run in Fig4().runs("smoke")} & {run.id for run in fig3.runs("smoke")}
