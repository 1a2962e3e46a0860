"""The settings of `reuse`, and the counts of Table S1."""

import pytest

from prunefield.papers import rows
from prunefield.papers.redman2025._nets import nets
from prunefield.papers.redman2025.reuse import VARIED, list_settings
from prunefield.report.ledger import find_items, read_finding
from prunefield.runs import Run

KEPT_1 = [3146752, 2202727, 1541909, 1079336, 755536, 528875, 370213, 259149, 181404, 126983, 88888]  # the fact sheet's
KEPT_2 = [1049600, 734720, 514304, 360013, 252009, 176407, 123485, 86440, 60508, 42356, 29649]


@pytest.mark.parametrize("scale", VARIED)
def test_each_setting_differs_from_the_base_in_one_way(scale):
    base = nets(scale, "leaves")[0].settings()
    for imp, axis in list_settings(scale).items():
        assert Run.parse(imp.settings()) == imp
        if imp.task.kind() == "leaves" and imp.labels == "true":
            changed = {key for key, value in imp.settings().items() if value != base[key]}
            wanted = {"images": {"images"}, "classes": {"task"}, "steps": {"steps"}, "width": {"hidden"}, "base": set()}
            assert changed - {"seed", "rewind"} == wanted[axis]


def test_counts_of_table_s1_are_those_of_the_fact_sheet(smoke):
    (item,) = find_items(["redman2025/tableS1"])
    found = read_finding(smoke, item, "smoke")
    for layer, kept in enumerate((KEPT_1, KEPT_2), start=1):
        for column in ("paper", "ours"):
            assert rows(found.table, quantity=f"kept {layer}")[column].tolist() == kept
    assert {row.verdict.status for row in found.rows} == {"reproduced"}
