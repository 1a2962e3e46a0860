"""Claims of lufkin2024 that are left open: fields that still change, and weights that hardly differ."""

import numpy as np
import pandas

from prunefield.papers import OPEN, judge
from prunefield.papers.lufkin2024._kurtosis_grid import imagine_grid, require_rest
from prunefield.papers.lufkin2024.claim3_2 import Claim3_2
from prunefield.papers.lufkin2024.fig5 import Fig5
from prunefield.papers.lufkin2024.section4_4 import judge_correlation


def moving(models, factor=0.8):
    """The ideal table, in which the fields of some models had another IPR at half the time."""
    table = imagine_grid()
    return table.assign(ipr_half=table["ipr"].mask(table["model"].isin(models), factor * table["ipr"]))


def measure_mean(table):
    return [table["ipr"].mean()]


def test_the_end_is_judged_only_where_the_numbers_that_decide_are_at_rest():
    for before, status in ((0.5, OPEN), (0.86, "reproduced"), (0.9, "reproduced"), (0.94, "reproduced"), (1.0, OPEN)):
        table = pandas.DataFrame({"ipr": [0.9], "ipr_half": [before]})
        assert require_rest(judge(True, "seen", 1), table, measure_mean).status == status
    found = require_rest(judge(False, "seen", 1, "why"), moving([]), measure_mean)
    assert (found.status, found.note) == (
        "not reproduced",
        "why; since half the time the numbers that decide have changed by at most 0.000 (limit 0.05)",
    )


def test_a_number_that_came_or_went_is_not_at_rest():
    table = imagine_grid()
    for first, second in ((None, 0.1), (0.1, None)):
        found = require_rest(judge(True, "seen", 1), table, lambda one, a=first, b=second: [b if one is table else a])
        assert found.status == OPEN
        assert found.note.endswith("changed by at most 0.000 (limit 0.05); 1 of 1 appeared or vanished")
    assert require_rest(judge(True, "seen", 1), table, lambda one: [None]).status == "reproduced"
    assert require_rest(judge(True, "seen", 1), table, lambda one: []).note == ""


def test_claims_rest_on_their_own_numbers():
    def check(*models):
        claims = (*Fig5.near_maximum, *Fig5.near_zero, *Fig5.consistent, *Fig5.alike)
        return [one.check(moving(models)).status == OPEN for one in claims]

    assert check("Kur(30)") == [True, False, False, True]
    assert check("Kur(4.5)") == [False, False, False, False]
    uneven = imagine_grid()
    uneven = uneven.assign(ipr_half=uneven["ipr"].mask((uneven["model"] == "Kur(30)") & (uneven["init"] < 5), 0.3))
    assert Fig5.consistent[0].check(uneven).status == OPEN
    (widths,) = Claim3_2.fixed_widths
    late = imagine_grid()
    late = late.assign(ipr_half=late["ipr"].mask((late["model"] == "Kur(4.5)") & (late["size"] == 160), 0.1))
    assert widths.check(late).status == OPEN
    assert widths.check(moving([])).status == "reproduced"
    growing = [one.check(moving(["NLGP(0.3)", "Kur(7)"], 0.01)).status for one in Claim3_2.threshold_at_zero]
    assert growing == [OPEN, OPEN]
    (local,) = Claim3_2.localised
    assert local.check(moving(["Kur(30)"])).status == "reproduced"


def test_nearly_equal_weights_decide_nothing():
    units = pandas.DataFrame({"outer": np.linspace(1, 1.4, 20), "ipr_n": np.linspace(20, 2, 20)})
    found = judge_correlation(units)
    assert (found.status, found.note) == (OPEN, "the 20 weights are nearly equal")
    wider = units.assign(outer=np.linspace(1, 2, 20))
    assert judge_correlation(wider).status == "reproduced"
    assert judge_correlation(wider.assign(ipr_n=units["ipr_n"][::-1].to_numpy())).status == "not reproduced"
