"""Items of redman2025 at night scale are judged by the nets that are finished."""

import pytest

from prunefield.lab.execution import order_runs
from prunefield.papers.redman2025._parts import NetItem, find_part
from prunefield.report.ledger import Finding, find_items

ITEMS = {item.kind(): item for item in find_items(["redman2025"]) if isinstance(item, NetItem)}
DRAWN = ("redman2025/fig1", "redman2025/fig5", "redman2025/hypothesis")  # drawings take a second or two
NIGHT = {name: order_runs(item.runs("night")) for name, item in ITEMS.items()}


def select(name, *parts):
    return [run for run in NIGHT[name] if find_part(run)[:2] in parts]


def test_all_items_with_nets_are_of_this_kind():
    assert set(ITEMS) == {
        f"redman2025/{name}"
        for name in ("fig1", "fig3", "fig4", "fig5", "figS1", "figS2", "figS3", "figS4", "hypothesis")
    }


@pytest.mark.parametrize("name", ITEMS)
def test_a_net_counts_when_all_of_its_runs_are_there(name):
    item, planned = ITEMS[name], NIGHT[name]
    first = select(name, ("tiny-imagenet", 0))
    assert item.choose_runs(planned, first, "night") == first
    assert item.choose_runs(planned, first[1:], "night") is None
    assert item.choose_runs(planned, [], "night") is None
    assert item.choose_runs(planned, planned, "night") == planned
    leaves = select(name, ("leaves", 0))
    assert item.choose_runs(planned, first[1:] + leaves, "night") == (leaves or None)  # Fig. 3 has none at night


def test_a_clone_of_full_rank_counts_by_itself():
    """One claim of Fig. 3 needs it, and it takes as long as the net."""
    item, planned = ITEMS["redman2025/fig3"], NIGHT["redman2025/fig3"]
    first = select("redman2025/fig3", ("tiny-imagenet", 0))
    own = [run for run in first if not find_part(run).is_full_clone]
    assert len(own) < len(first)
    assert item.choose_runs(planned, own, "night") == own
    assert item.choose_runs(planned, [run for run in first if run not in own], "night") is None


@pytest.mark.parametrize("name", ITEMS)
def test_other_seeds_count_with_the_first(name):
    """Drawings show seed 0."""
    item, planned = ITEMS[name], NIGHT[name]
    second = select(name, ("tiny-imagenet", 1))
    assert item.choose_runs(planned, second, "night") is None
    both = select(name, ("tiny-imagenet", 0), ("tiny-imagenet", 1))
    assert item.choose_runs(planned, both, "night") == both


@pytest.mark.parametrize("name", ITEMS)
def test_at_other_scales_nothing_may_be_missing(name):
    item = ITEMS[name]
    planned = order_runs(item.runs("smoke"))
    assert item.choose_runs(planned, planned[:-1], "smoke") is None
    assert item.choose_runs(planned, planned, "smoke") == planned


@pytest.mark.parametrize("name", ITEMS)
def test_one_net_is_judged_and_says_so(name, smoke):
    item = ITEMS[name]
    planned = order_runs(item.runs("smoke"))
    chosen = [run for run in planned if find_part(run)[:2] == ("leaves", 0)]
    finding = Finding(item, "night", {run: smoke.folder(run).read() for run in chosen}, len(planned) - len(chosen))
    assert {tuple(row.claim.needs.values())[-1] for row in finding.rows} == {"leaves"}
    decided = [row for row in finding.rows if row.claim.decided_at == "laptop"]
    assert decided
    assert all(row.verdict.note.endswith("one seed") for row in decided)
    assert f"{len(chosen)} of {len(planned)} runs" in finding.describe()
    if name in DRAWN:
        finding.draw()
