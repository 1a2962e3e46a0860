"""lufkin2024/fig1, fig6 and fig7: what their tables hold, and what their claims see at smoke scale."""

import pytest
import torch
from pandas import concat

from prunefield.lab.execution import order_runs
from prunefield.papers import SCALES
from prunefield.papers.lufkin2024._units import average_waves, judge_ranks, judge_signs
from prunefield.papers.lufkin2024.fig7 import SIGMOID, choose_sigmoid, describe_networks
from prunefield.report.ledger import find_items, read_finding
from prunefield.runs import Record, Result
from prunefield.runs.committee import Committee
from prunefield.tasks.kur import Kur

NAMES = ("fig1", "fig6", "fig7")
# The claims whose numbers are far from the line; on which side the others fall may depend on the machine.
CLEAR = {"fig1": (0, 1), "fig6": (0, 2, 4), "fig7": (8, 10, 12)}


@pytest.mark.parametrize("name", NAMES)
def test_what_is_clear_at_smoke_scale_is_reproduced(name, smoke):
    (item,) = find_items([f"lufkin2024/{name}"])
    found = read_finding(smoke, item, "smoke")
    assert found is not None
    assert [found.rows[index].verdict.status for index in CLEAR[name]] == ["reproduced"] * len(CLEAR[name])
    assert not found.table.duplicated(["network", "data", "size", "rate", "unit"]).any()
    assert found.table["ipr_n"].between(1, found.table["size"]).all()


@pytest.mark.parametrize("name", NAMES)
def test_every_scale_can_be_planned(name):
    (item,) = find_items([f"lufkin2024/{name}"])
    hours = [sum(run.seconds() for run in order_runs(item.plan(scale))) for scale in SCALES]
    assert 0 < hours[0] <= hours[1] <= min(hours[2:])  # at night it has an N that the paper lacks


def test_fig7_shares_a_run_with_fig6():
    six, seven = (find_items([f"lufkin2024/{name}"])[0] for name in ("fig6", "fig7"))
    assert all(set(six.plan(scale)) & set(seven.plan(scale)) for scale in SCALES)


def test_the_mean_wave_number_is_that_of_a_wave():
    site = torch.arange(40, dtype=torch.float64)
    waves = torch.stack([torch.cos(2 * torch.pi * k * site / 40 + 0.3) for k in (0, 1, 7, 20)])
    assert torch.allclose(average_waves(waves) * 40, torch.tensor([0.0, 1.0, 7.0, 20.0], dtype=torch.float64))
    noise = torch.randn(2000, 40, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    assert average_waves(noise).mean().item() == pytest.approx(0.25, abs=0.002)


def test_the_tests_are_at_five_per_cent():
    def flags(good, bad):
        return torch.tensor([True] * good + [False] * bad).numpy()

    assert judge_signs(flags(9, 1), "x").status == "reproduced"  # 11/1024
    assert judge_signs(flags(8, 2), "x").status == "not reproduced"  # 56/1024
    low, high = torch.arange(5.0).numpy(), torch.arange(5.0, 10.0).numpy()
    assert judge_ranks(high, low, "x").status == "reproduced"
    assert judge_ranks(low, high, "x").status == "not reproduced"


def test_later_networks_of_fig7_decide_unless_they_diverged(smoke):
    (item,) = find_items(["lufkin2024/fig7"])
    found = read_finding(smoke, item, "smoke")
    assert found is not None
    known = found.table[(found.table["network"] == SIGMOID) & (found.table["seed"] == 0)].head(10)

    def judge(*finished, ipr_n=1.5):
        later = [known.assign(seed=seed, finished=one, ipr_n=ipr_n) for seed, one in enumerate(finished, 1)]
        claim, shown = item.claims[0], next(claim for claim in item.claims if "4 are not localised" in claim.text)
        table = concat([known.assign(ipr_n=9.0), *later], ignore_index=True)
        return table, claim.judge(table, "night"), shown.judge(table, "night")

    table, verdict, shown = judge(1, 0, 1, 1, 1)
    assert (verdict.status, verdict.n, shown.status) == ("reproduced", 40, "reproduced")
    assert "1 of 5 networks diverged (seeds 2)" in verdict.note
    assert "by network: 10 of 10, 10 of 10, 10 of 10, 10 of 10" in verdict.note
    assert choose_sigmoid(table)["seed"].unique().tolist() == [1, 3, 4, 5]
    _, verdict, shown = judge(1, 0, 1, 1)
    assert (verdict.status, shown.status) == ("not testable at this scale",) * 2
    _, verdict, shown = judge(0, 0)
    assert (verdict.status, shown.status) == ("not testable at this scale",) * 2
    _, verdict, shown = judge(1, 1, 1, 1, ipr_n=4.0)
    assert (verdict.status, shown.status) == ("not reproduced",) * 2


def test_a_network_of_fig7_has_diverged_if_it_stopped_or_is_worse_than_a_guess():
    run = Committee(task=Kur(), hidden=2, inits=3, steps=8, second="learnt", diverging="stop")
    tensors = {"loss": torch.tensor([0.1, 0.5, 0.6]), "weights": torch.ones(3, 2, 40)}
    for step, finished in ((8, [1, 1, 1, 1, 0, 0]), (4, [0] * 6)):
        result = Result([Record({"step": step}, tensors)], "")
        assert [row["finished"] for row in describe_networks(run, result)] == finished
        lasting = run.model_copy(update={"diverging": "fail"})
        assert [row["finished"] for row in describe_networks(lasting, result)] == [1] * 6
