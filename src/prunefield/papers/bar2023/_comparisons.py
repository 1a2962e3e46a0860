"""Two columns of bar2023's tables compared: in the printed cells with their deviations, and in our runs with a gate."""

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from prunefield.measures.differences import Difference, compare_pairs
from prunefield.measures.evidence import Conclusion, Evidence, adjust_p_values, weigh_mean, weigh_pairs
from prunefield.papers import OPEN, Frame, Verdict, judge, numbers, rows
from prunefield.papers.bar2023._night import ALPHA, DENSITIES, LEAST_CONTROLS, MARGIN
from prunefield.papers.bar2023._printed import CHANCE
from prunefield.papers.bar2023._printed import SEEDS as PRINTED_SEEDS

OWN_UNLESS = "far longer training than here, or other networks, may show otherwise"


@dataclass(frozen=True)
class Comparison:
    """Two columns, the second of which is said to be better, or, if `comparable`, better or as good; `own` if not by
    the paper.

    One of a table is `primary`, declared before its runs, at the first of its densities; the others are corrected for
    their number. `densities` are those at which our runs are judged. `unless` is what would have to be true for it to
    hold where we find otherwise.
    """

    control: str
    treatment: str
    text: str
    unless: str = OWN_UNLESS
    primary: bool = False
    own: bool = False
    comparable: bool = False
    densities: tuple[float, ...] = DENSITIES[:1]

    @property
    def name(self) -> str:
        return f"{self.text}: {self.treatment} against {self.control}"

    def is_primary(self, density: float) -> bool:
        return self.primary and density == self.densities[0]

    def subtract(self, table: Frame, source: str) -> Frame:
        """Treatment − control, one row per cell and seed, with both accuracies, `first` and `second`; `error` is the
        standard error of a printed one, and `fourth` the sum of the fourth powers of those of its two means.

        Cells in which both columns are at chance are left out.
        """
        part = rows(table, source=source, column=(self.control, self.treatment))
        part = part if "deviation" in part else part.assign(deviation=math.nan)
        wide = part.pivot_table(
            index=["data", "net", "density", "seed"], columns="column", values=["accuracy", "deviation"], dropna=False
        )
        if part["column"].nunique() < 2:
            return rows(part, column="").assign(gap=0.0, first=0.0, second=0.0, error=0.0, fourth=0.0)
        pair = wide["accuracy"].reindex(columns=[self.control, self.treatment]).dropna()
        gaps = (pair[self.treatment] - pair[self.control]).round(6).rename("gap").reset_index()
        squares = wide["deviation"].reindex(pair.index).pow(2) / PRINTED_SEEDS
        error, fourth = (part.sum(axis=1, skipna=False).to_numpy() for part in (squares, squares.pow(2)))
        first, second = (pair[column].to_numpy() for column in (self.control, self.treatment))
        gaps = gaps.assign(first=first, second=second, error=error**0.5, fourth=fourth)
        chance = gaps["data"].map(CHANCE)
        return gaps[(gaps["first"] != chance) | (gaps["second"] != chance)].reset_index(drop=True)

    def judge_printed(self, table: Frame, family: str) -> Verdict:
        """The mean of the printed differences, decided as our runs are; what is shown must be so whichever cell is left
        out.
        """
        part = rows(table, source="paper", net=family)
        gaps, cells = self.subtract(part, "paper"), len(rows(part, column=self.control))
        evidence, n = weigh_printed(gaps), len(gaps)
        parts = {place: weigh_printed(gaps.drop(index=place)) for place in gaps.index}
        conclusion, mean = evidence.decide(alpha=ALPHA), evidence.difference.mean
        decisive = [place for place, one in parts.items() if not _agrees(one, conclusion)]
        place = max(decisive or parts, key=lambda place: abs(parts[place].difference.mean - mean))
        cell, steps = f"{gaps['data'][place]} at {gaps['density'][place]:.0%}", part["steps"].max()
        seen = (
            f"{_show(evidence.difference)} points, better in {(gaps['gap'] > 0).sum()} of {n} cells"
            + (f" ({cells - n} left out: both columns at chance)" if n < cells else "")
            + f"; {gaps['second'].mean():.2f} against {gaps['first'].mean():.2f}%, "
            + ("steps not printed" if math.isnan(steps) else f"{steps:,.0f} steps")
            + f"; without {cell} {_show(parts[place].difference)}"
        )
        if decisive:
            return replace(judge(False, seen, n, f"it depends on one cell, {cell}; {_cite(evidence)}"), status=OPEN)
        return self.decide(evidence, seen, n)

    def decide(self, evidence: Evidence, seen: str, n: int, how: str = "") -> Verdict:
        """Better (reproduced), worse or within ±0.5 points (not reproduced), or not decided.

        Within ±0.5 points is reproduced where the paper says comparable.
        """
        conclusion = evidence.decide(alpha=ALPHA)
        good = conclusion == "better" or (self.comparable and conclusion == "equivalent")
        shown = {
            "better": "a difference",
            "worse": "the opposite",
            "equivalent": f"no difference of {MARGIN:g} points or more",
            "undecided": f"neither a difference nor its absence (within ±{MARGIN:g} points) is shown",
        }[conclusion]
        unless = self.unless if self.own else f"for the paper to be right, {self.unless}"
        shown += "" if good or conclusion == "undecided" else f"; {unless}"
        verdict = judge(good, seen, n, f"{shown}; {_cite(evidence)}{how}")
        return replace(verdict, status=OPEN) if conclusion == "undecided" else verdict


def weigh_printed(gaps: Frame) -> Evidence:
    """The evidence of the mean over cells that follows from the printed deviations over three seeds.

    Student's t with the degrees of freedom of Welch and Satterthwaite: each of the two means in a cell has 3 − 1.
    Without printed deviations, from the cells themselves.
    """
    from scipy import stats

    values, errors = list(gaps["gap"]), numbers(gaps, "error")
    if not gaps["error"].notna().all():
        return weigh_pairs(values, margin=MARGIN)
    mean, n = sum(values) / len(values), len(values)  # one after the other: in any other order, 1.245 may round up
    total = float((errors**2).sum())
    freedom = total**2 * (PRINTED_SEEDS - 1) / float(gaps["fourth"].sum()) if total else math.inf
    error = math.sqrt(total) / n
    reach = float(stats.t.ppf(0.975, freedom)) * error
    return weigh_mean(Difference(mean, mean - reach, mean + reach, math.nan, n), error, freedom, margin=MARGIN)


def _agrees(evidence: Evidence, conclusion: Conclusion) -> bool:
    """Whether it shows the same; a difference that is within the margin is both."""
    return conclusion in ("undecided", evidence.decide(alpha=ALPHA)) or (
        conclusion == "equivalent" and evidence.p_equal < ALPHA
    )


def _cite(evidence: Evidence) -> str:
    return f"p = {evidence.p_different:.2g} and {evidence.p_equal:.2g} (equivalence)"


def _show(found: Difference) -> str:
    """A mean with its interval, if it has one: equal differences without deviations do not."""
    return f"{found.mean:+.2f}" + (f" ({found.low:+.2f} to {found.high:+.2f})" if found.low < found.high else "")


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
    """What our runs decide, if the gate is passed and all seeds are there."""
    found = find_gaps(table, family, density, chosen.control, chosen.treatment)
    passed, gate = check_gate(table, family, density)
    steps = numbers(rows(table, source="here", family=family), "steps").max(initial=0)
    each = f"{found.treatment:.2f} against {found.control:.2f}%, " if found.gaps else ""
    if len(found.gaps) > 1:
        seen = f"{_show(compare_pairs([0.0] * len(found.gaps), found.gaps))} points"
    else:
        seen = f"{found.gaps[0]:+.2f} points" if found.gaps else "no difference known yet"
    seen = f"{seen}, {len(found.gaps)} of {found.planned} seeds; {each}{steps:,.0f} steps; {gate}"
    if found.evidence is None or not passed:
        reason = "the gate is not passed" if "not passed" in gate else "runs are missing"
        return replace(judge(False, seen, len(found.gaps), reason), status=OPEN)
    evidence, number = found.evidence, 1
    if not chosen.is_primary(density):
        evidence, number = _correct(table, comparisons, chosen, family, density)
    how = f", corrected for {number} comparisons" if number > 1 else ", primary"
    return chosen.decide(evidence, seen, len(found.gaps), how + _warn_below_random(table, chosen, family, density))


def _warn_below_random(table: Frame, chosen: Comparison, family: str, density: float) -> str:
    """A warning if the first column is worse than random masks: then the second can gain by being more random."""
    columns = (chosen.control, chosen.treatment)
    gaps = [] if "Random" in columns else [find_gaps(table, family, density, "Random", one).gaps for one in columns]
    if not gaps or min(map(len, gaps)) < 2:
        return ""
    first, second = (compare_pairs([0.0] * len(part), part) for part in gaps)
    if first.high >= 0:
        return ""
    return (
        f"; against Random, {chosen.control} is at {_show(first)} points and {chosen.treatment} at {_show(second)} "
        "(comparisons that were not declared)"
    )


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
