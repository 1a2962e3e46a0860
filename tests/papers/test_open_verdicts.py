"""Claims of lufkin2024 that are left open: fields that still change, and weights that hardly differ."""

import numpy as np
import pandas

from prunefield.papers import judge
from prunefield.papers.lufkin2024._kurtosis_grid import imagine_grid, require_rest
from prunefield.papers.lufkin2024.fig5 import Fig5
from prunefield.papers.lufkin2024.section4_4 import judge_correlation

OPEN = "not testable at this scale"


def moving(share):
    """The ideal table, this share of the local fields still growing."""
    table = imagine_grid()
    local = table["ipr"] > 0.5
    groups = local.groupby([table["source"], table["size"], local])
    late = local & (groups.cumcount() < share * groups.transform("size"))
    return table.assign(ipr_half=table["ipr"].mask(late, 0.9 * table["ipr"]))


def test_the_end_is_judged_only_where_fields_have_stopped_changing():
    for share, status in ((0.0, "reproduced"), (0.05, "reproduced"), (0.3, OPEN), (1.0, OPEN)):
        assert require_rest(judge(True, "seen", 1), moving(share), 160).status == status
    assert require_rest(judge(False, "seen", 1), moving(0.3), 160).status == OPEN
    assert require_rest(judge(False, "seen", 1, "why"), moving(0.0), 40).note.startswith("why; ")


def test_flat_fields_need_not_be_at_rest():
    table = moving(1.0)
    assert [one.check(table).status for one in (*Fig5.near_maximum, *Fig5.near_zero)] == [OPEN, "reproduced"]


def test_nearly_equal_weights_decide_nothing():
    units = pandas.DataFrame({"outer": np.linspace(1, 1.4, 20), "ipr_n": np.linspace(20, 2, 20)})
    found = judge_correlation(units)
    assert (found.status, found.note) == (OPEN, "the 20 weights are nearly equal")
    wider = units.assign(outer=np.linspace(1, 2, 20))
    assert judge_correlation(wider).status == "reproduced"
    assert judge_correlation(wider.assign(ipr_n=units["ipr_n"][::-1].to_numpy())).status == "not reproduced"
