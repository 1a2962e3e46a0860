"""Two columns of bar2023's tables compared: in the printed cells with their deviations, and in our runs with a gate."""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from prunefield.measures.differences import Difference, compare_pairs
from prunefield.measures.evidence import Evidence, adjust_p_values, weigh_pairs
from prunefield.papers import Frame, Verdict, judge, numbers, rows
from prunefield.papers.bar2023._night import ALPHA, DENSITIES, LEAST_CONTROLS, MARGIN
from prunefield.papers.bar2023._printed import SEEDS as PRINTED_SEEDS

OPEN = "not testable at this scale"
UNLESS = (
    "for the paper to be right, the gain would have to appear only with far longer training than here, or in other "
    "networks"
)
OWN_UNLESS = "far longer training than here, or other networks, may show otherwise"


@dataclass(frozen=True)
class Comparison:
    """Two columns, the second of which is said to be better; `own` if not by the paper.

    One of a table is `primary`, declared before its runs, at the first of its densities; the others are corrected for
    their number. `densities` are those at which our runs are judged.
    """

    control: str
    treatment: str
    text: str
    primary: bool = False
    own: bool = False
    densities: tuple[float, ...] = DENSITIES[:1]

    @property
    def name(self) -> str:
        return f"{self.text}: {self.treatment} against {self.control}"

    @property
    def unless(self) -> str:
        """What would have to be true for it to hold where we find otherwise."""
        return OWN_UNLESS if self.own else UNLESS

    def is_primary(self, density: float) -> bool:
        return self.primary and density == self.densities[0]

    def subtract(self, table: Frame, source: str) -> Frame:
        """Treatment − control, one row per cell and seed; `error` is the standard error of a printed one, and `fourth`
        the sum of the fourth powers of those of its two means.
        """
        part = rows(table, source=source, column=(self.control, self.treatment))
        part = part if "deviation" in part else part.assign(deviation=math.nan)
        wide = part.pivot_table(
            index=["data", "net", "density", "seed"], columns="column", values=["accuracy", "deviation"], dropna=False
        )
        if part["column"].nunique() < 2:
            return rows(part, column="").assign(gap=0.0, error=0.0, fourth=0.0)
        pair = wide["accuracy"].reindex(columns=[self.control, self.treatment]).dropna()
        gaps = (pair[self.treatment] - pair[self.control]).round(6).rename("gap").reset_index()
        squares = wide["deviation"].reindex(pair.index).pow(2) / PRINTED_SEEDS
        error, fourth = (part.sum(axis=1, skipna=False).to_numpy() for part in (squares, squares.pow(2)))
        return gaps.assign(error=error**0.5, fourth=fourth)

    def judge_printed(self, table: Frame, family: str) -> Verdict:
        """A printed mean difference above zero, by its interval and whichever cell is left out; else undecided, or not
        reproduced if most cells or their mean say otherwise.
        """
        gaps = self.subtract(rows(table, net=family), "paper")
        found, values, n = summarise_printed(gaps), list(gaps["gap"]), len(gaps)
        wins = sum(value > 0 for value in values)
        parts = {place: summarise_printed(gaps.drop(index=place)) for place in gaps.index}
        decisive = [place for place, part in parts.items() if part.low <= 0 < found.low]
        place = max(decisive or parts, key=lambda place: abs(parts[place].mean - found.mean))
        least, cell = parts[place], f"{gaps['data'][place]} at {gaps['density'][place]:.0%}"
        seen = (
            f"better in {wins} of {n} cells; mean {found.mean:+.2f} points ({found.low:+.2f} to {found.high:+.2f}); "
            f"without {cell} {least.mean:+.2f} ({least.low:+.2f} to {least.high:+.2f})"
        )
        if wins <= n / 2 or found.mean <= 0:
            return judge(
                False, seen, n, "for the paper to be right, more seeds would have to reverse the sign in these cells"
            )
        if found.low > 0 and not decisive:
            return judge(True, seen, n)
        reason = f"it depends on one cell, {cell}" if decisive else "its interval includes zero"
        printed = "three printed seeds" if _have_errors(gaps) else f"{n} printed cells"
        return replace(judge(False, seen, n, f"{printed} do not decide it: {reason}"), status=OPEN)


def summarise_printed(gaps: Frame) -> Difference:
    """The mean over cells with the 95% interval that follows from the printed deviations over three seeds.

    Student's t with the degrees of freedom of Welch and Satterthwaite: each of the two means in a cell has 3 − 1.
    Without printed deviations, the interval over cells.
    """
    from scipy import stats

    values, errors = list(gaps["gap"]), numbers(gaps, "error")
    mean, n = sum(values) / len(values), len(values)  # one after the other: in any other order, 1.245 may round up
    if not _have_errors(gaps):
        return compare_pairs([0.0] * n, values)._replace(mean=mean)
    total = float((errors**2).sum())
    freedom = total**2 * (PRINTED_SEEDS - 1) / float(gaps["fourth"].sum()) if total else math.inf
    reach = float(stats.t.ppf(0.975, freedom)) * math.sqrt(total) / n
    return Difference(mean, mean - reach, mean + reach, math.nan, n)


def _have_errors(gaps: Frame) -> bool:
    return bool(gaps["error"].notna().all())


class Found(NamedTuple):
    """Our differences of a comparison in a network family at a density, one for each seed that is there."""

    gaps: list[float]
    planned: int
    control: float  # mean accuracy over these seeds
    treatment: float

    @property
    def evidence(self) -> Evidence | None:
        """What they show once all seeds are there."""
        return weigh_pairs(self.gaps, margin=MARGIN) if 2 <= self.planned <= len(self.gaps) else None


def find_gaps(table: Frame, family: str, density: float, control: str, treatment: str) -> Found:
    """Differences of the seeds that both columns have, averaged over data sets."""
    part = rows(table, source="here", family=family, density=density)
    wide = rows(part, column=(control, treatment)).pivot_table(index="seed", columns="column", values="accuracy")
    wide = wide.reindex(columns=[control, treatment]).dropna()
    gaps = [float(gap) for gap in (wide[treatment] - wide[control]).round(6)]
    planned = int(numbers(rows(table, source="here", family=family), "planned").max(initial=0))
    return Found(gaps, planned, float(wide[control].mean()), float(wide[treatment].mean()))


def check_gate(table: Frame, family: str, density: float) -> tuple[bool, str]:
    """Whether the network learns enough for a verdict, with the numbers: the dense accuracy and SynFlow − Random."""
    dense = rows(table, source="here", family=family, column="Dense")
    control = find_gaps(table, family, density, "Random", "SynFlow")
    learnt = float(dense["accuracy"].mean())
    if dense.empty or len(control.gaps) < 2:
        gaps = ", ".join(f"{gap:+.2f}" for gap in control.gaps)
        shown = "not known yet" if dense.empty else f"{learnt:.2f}%"
        return False, f"gate undecided: dense {shown}, SynFlow − Random {gaps or 'not known yet'}"
    found = compare_pairs([0.0] * len(control.gaps), control.gaps)
    good = (numbers(dense, "accuracy") >= numbers(dense, "least")).all() and found.low > 0
    enough = len(control.gaps) >= min(LEAST_CONTROLS, control.planned)
    least, state = float(dense["least"].min()), "undecided" if not enough else "passed" if good else "not passed"
    text = (
        f"gate {state}: dense {learnt:.2f}% (at least {least:g}), SynFlow − Random "
        f"{found.mean:+.2f} ({found.low:+.2f} to {found.high:+.2f}, n = {found.n})"
    )
    return bool(good and enough), text


def judge_runs(
    table: Frame, comparisons: tuple[Comparison, ...], chosen: Comparison, family: str, density: float
) -> Verdict:
    """Better (reproduced), worse or within ±0.5 points (not reproduced), or not decided by the seeds that are there."""
    found = find_gaps(table, family, density, chosen.control, chosen.treatment)
    passed, gate = check_gate(table, family, density)
    steps = numbers(rows(table, source="here", family=family), "steps").max(initial=0)
    each = f"{found.treatment:.2f} against {found.control:.2f}%, " if found.gaps else ""
    if len(found.gaps) > 1:
        seen = str(compare_pairs([0.0] * len(found.gaps), found.gaps)).split(", n")[0] + ") points"
    else:
        seen = f"{found.gaps[0]:+.2f} points" if found.gaps else "no difference known yet"
    seen = f"{seen}, {len(found.gaps)} of {found.planned} seeds; {each}{steps:,.0f} steps; {gate}"
    if found.evidence is None or not passed:
        reason = "the gate is not passed" if "not passed" in gate else "runs are missing"
        return replace(judge(False, seen, len(found.gaps), reason), status=OPEN)
    evidence, number = found.evidence, 1
    if not chosen.is_primary(density):
        evidence, number = _correct(table, comparisons, chosen, family, density)
    conclusion = evidence.decide(alpha=ALPHA)
    shown = {
        "better": "a difference",
        "worse": f"the opposite; {chosen.unless}",
        "equivalent": f"no difference of {MARGIN:g} points or more; {chosen.unless}",
        "undecided": f"neither a difference nor its absence (within ±{MARGIN:g} points) is shown",
    }[conclusion]
    corrected = f", corrected for {number} comparisons" if number > 1 else ", primary"
    note = f"{shown}; p = {evidence.p_different:.2g} and {evidence.p_equal:.2g} (equivalence){corrected}"
    verdict = judge(conclusion == "better", seen, len(found.gaps), note)
    return replace(verdict, status=OPEN) if conclusion == "undecided" else verdict


def _correct(
    table: Frame, comparisons: tuple[Comparison, ...], chosen: Comparison, family: str, density: float
) -> tuple[Evidence, int]:
    """The evidence after Holm's correction for all comparisons of the table but the primary one, run or not."""
    others = [(pair, level) for pair in comparisons for level in pair.densities if not pair.is_primary(level)]
    found = [find_gaps(table, family, level, pair.control, pair.treatment).evidence for pair, level in others]
    place = others.index((chosen, density))
    own = found[place]
    assert own is not None
    different, equal = (
        adjust_p_values([getattr(one, name) if one else 1.0 for one in found])[place]
        for name in ("p_different", "p_equal")
    )
    return own._replace(p_different=different, p_equal=equal), len(others)
