"""Claims of lufkin2024 that are left open: fields that still change, and weights that hardly differ."""

import numpy as np
import pandas

from prunefield.papers import OPEN, judge
from prunefield.papers.lufkin2024._kurtosis_grid import imagine_grid, require_rest
from prunefield.papers.lufkin2024.claim3_2 import Claim3_2
from prunefield.papers.lufkin2024.fig5 import Fig5
from prunefield.papers.lufkin2024.section4_4 import judge_correlation


def moving(models, share=1.0):
    """The ideal table, a share of the fields of some models grown by a quarter since half the time."""
    table = imagine_grid()
    late = table["model"].isin(models) & (table["init"] < 10 * share)
    return table.assign(ipr_half=table["ipr"].mask(late, 0.8 * table["ipr"]))


def test_the_end_is_judged_only_where_each_model_is_at_rest():
    local, flat = ["Kur(30)"], ["Kur(4.5)"]
    for models, share, status in (([], 1, "reproduced"), (local, 0.2, "reproduced"), (local, 1, OPEN), (flat, 1, OPEN)):
        assert require_rest(judge(True, "seen", 1), moving(models, share), above=0).status == status
    assert require_rest(judge(True, "seen", 1), moving(flat)).status == "reproduced"  # below the noise
    found = require_rest(judge(False, "seen", 1, "why"), moving(local))
    assert found.status == OPEN
    assert found.note.startswith("why; ")
    assert "Kur(30) (simulated, ξ = 0.3, 0.7, N = 40: 0.760 to 0.950)" in found.note


def test_fields_that_have_decayed_are_not_at_rest():
    table = imagine_grid().assign(ipr=0.03)
    assert require_rest(judge(False, "seen", 1), table.assign(ipr_half=0.9)).status == OPEN
    assert require_rest(judge(False, "seen", 1), table.assign(ipr_half=0.03)).status == "not reproduced"


def test_claims_rest_on_their_own_models():
    def check(*models):
        claims = (*Fig5.near_maximum, *Fig5.near_zero, *Fig5.consistent, *Fig5.alike)
        return [one.check(moving(models)).status == OPEN for one in claims]

    assert check("Kur(30)") == [True, False, True, True]
    assert check("Kur(4.5)") == [False, False, False, False]
    (widths,) = Claim3_2.fixed_widths
    assert widths.check(moving(["Kur(4.5)"])).status == OPEN
    assert [one.check(moving(["Kur(7)"])).status for one in Claim3_2.threshold_at_zero] == [OPEN, OPEN]
    (local,) = Claim3_2.localised
    assert local.check(moving(["Kur(30)"])).status == "reproduced"


def test_nearly_equal_weights_decide_nothing():
    units = pandas.DataFrame({"outer": np.linspace(1, 1.4, 20), "ipr_n": np.linspace(20, 2, 20)})
    found = judge_correlation(units)
    assert (found.status, found.note) == (OPEN, "the 20 weights are nearly equal")
    wider = units.assign(outer=np.linspace(1, 2, 20))
    assert judge_correlation(wider).status == "reproduced"
    assert judge_correlation(wider.assign(ipr_n=units["ipr_n"][::-1].to_numpy())).status == "not reproduced"
