"""lufkin2024/fig1, fig6 and fig7: what their tables hold, and what their claims see at smoke scale."""

import pytest
import torch

from prunefield.lab.execution import order_runs
from prunefield.papers import SCALES
from prunefield.papers.lufkin2024._units import average_waves, judge_ranks, judge_signs
from prunefield.report.ledger import find_items, read_finding

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
