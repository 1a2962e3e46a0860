"""Hypothesis H* of redman2025 as claims (Sec. 1), for each item that has its evidence on one table."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from prunefield.papers import OPEN, Check, Claim, Claims, Frame, Verdict, judge, numbers, rows
from prunefield.papers.redman2025._cavities import name_next
from prunefield.papers.redman2025._curves import (
    LOCAL,
    clone_as_data,
    correlate_ranks,
    curve,
    imp_as_random,
    judge_clone_width,
    judge_kurtosis_gap,
)
from prunefield.papers.redman2025._fates import READINGS, judge_readings
from prunefield.papers.redman2025._greedy import (
    MOST,
    RAISED,
    judge_first_rise,
    judge_localisation,
    judge_rise,
    widen_greedy,
)

TOGETHER = -0.9  # rank correlation over rounds
MAXIMAL_CHOICE = (
    f"'Maximally' means: IMP reaches {MOST} of the rise over random masks that the better greedy method reaches, "
    "in every seed, at the last round. Width: median σx of the most connected units, as in Fig. 3C."
)
GREEDY_CHOICE = (
    "The paper calls a search for the best weights infeasible. Greedy pruning does what H* says that IMP does: "
    "at θ(rewind)⊙m(n) it removes as many first-layer weights as IMP, those with the highest scores. It "
    "maximises the kurtosis itself, with 20 scoring passes in all (greedy), or eq. 5, which lowers a kurtosis "
    "below 3, with one scoring pass per round as IMP prunes (cavity; corrected as in the claims). It scores with "
    "training images and is measured on held-out images, so that it cannot profit from chance. It is not an upper "
    "bound: the optimum can only be better."
)


@dataclass(frozen=True)
class Statement:
    """One part of H*: the arguments of `claim`, and its check."""

    text: str
    at: str
    expect: str
    check: Check
    null: Callable[[Frame], Frame] = imp_as_random
    needs: Mapping[str, object] = field(default_factory=dict)


def next_as_shuffled(table: Frame) -> Frame:
    """The null: scores that do not depend on when a weight is pruned."""
    return table.assign(**{name_next(name): table[name_next(name, "shuffled")] for name in READINGS})


def judge_together(table: Frame) -> Verdict:
    """Do IMP's fields become narrower as the kurtosis rises?"""
    width, kurtosis = (curve(rows(table, inputs="data"), "imp", name) for name in ("width", "kurtosis"))
    found = [correlate_ranks(width[seed], kurtosis[seed]) for seed in width]
    return judge(max(found) <= TOGETHER, f"rank correlations {min(found):+.2f} to {max(found):+.2f}", 2 * width.size)


def judge_next(table: Frame) -> Verdict:
    """Is the group that IMP prunes next positive in every round and seed?"""
    imp = rows(table, inputs="data", method="imp").dropna(subset=["next"])
    if imp.empty:  # random masks have no fates
        return judge(False, "0 scores", 1)

    def measure(name: str) -> tuple[bool, str]:
        scores, chance = (numbers(imp, name_next(name, by)) for by in ("fate", "shuffled"))
        good, means = (scores > 0).sum(), f"{scores.mean():+.4f}, fates shuffled {chance.mean():+.4f}"
        return bool(good == scores.size), f"{good} of {scores.size} positive, mean {means}"

    return judge_readings(measure, len(imp))


PARTS = (
    Statement(
        "(a) Non-Gaussian inputs are necessary: fields are wider on the Gaussian clone",
        at="Sec. 1 and 3.1, Fig. 3C",
        expect="the smallest median width on the clone is above the largest on the data",
        check=judge_clone_width,
        null=clone_as_data,
        needs={"inputs": "clone"},
    ),
    Statement(
        "(b) IMP leads to greater kurtosis than one-shot pruning",
        at="Sec. 1 and 3.2, Fig. 4B",
        expect="above that of one-shot pruning and of random masks, in every seed, from some round to the end",
        check=lambda table: judge_kurtosis_gap(rows(table, inputs="data")),
    ),
    Statement(
        "(b) Over IMP's rounds, fields become narrower as the kurtosis rises",
        at="Sec. 1 and 3.2 (feedback loop)",
        expect=f"rank correlation of kurtosis and width at most {TOGETHER} in every seed",
        check=judge_together,
    ),
    Statement(
        "(c) IMP removes weights precisely when their removal raises the non-Gaussianity",
        at="Sec. 1 and 3.3, Fig. 5C",
        expect="the next group's mean cavity score is positive in every round and seed",
        check=judge_next,
        null=next_as_shuffled,
    ),
    Statement(
        "(d) IMP increases the kurtosis maximally",
        at="Sec. 1 (H*), 3.3 and 4; our control",
        expect=f"(κ_IMP − κ_random)/(κ_greedy − κ_random) at least {MOST} in every seed, where that rise by greedy "
        f"pruning is at least {RAISED} of IMP's",
        check=judge_rise,
        needs={"method": "greedy"},
    ),
    Statement(
        "(d) In the first round, IMP increases the kurtosis maximally",
        at="Sec. 1 (at each round); our control",
        expect=f"the same share after round 1, which all methods begin with the same weights, at least {MOST} in every "
        "seed, where greedy pruning rises by more than random masks vary over the rounds",
        check=judge_first_rise,
        needs={"method": "greedy"},
    ),
    Statement(
        "(d) Increasing the kurtosis is enough to localise",
        at="Sec. 1 (H*: 'by') and 4 (new pruning algorithms); our control",
        expect=f"greedy pruning has below {LOCAL} times the width of random masks, in every seed, where its rise in "
        f"kurtosis is at least {RAISED} of IMP's",
        check=judge_localisation,
        null=widen_greedy,
        needs={"method": "greedy"},
    ),
)


def claim_hypothesis(claim: Callable[..., Callable[[Check], Claims]], column: str) -> Claims:
    """The parts of H* and H* as a whole, stated by `claim` for each name in a column, as `claim(per=…)` does."""
    parts = [
        one
        for part in PARTS
        for one in claim(part.text, at=part.at, expect=part.expect, null=part.null, needs=part.needs)(part.check)
    ]

    def judge_whole(table: Frame) -> Verdict:
        (name,) = table[column].unique()
        return judge_parts([part for part in parts if part.needs[column] == name], table)

    text = "H* as a whole: IMP finds local fields by maximally raising the kurtosis"
    whole = claim(text, at="Sec. 1 (H*)", expect="all of (a) to (d)", null=imp_as_random)(judge_whole)
    return Claims((*parts, *whole))


def judge_parts(parts: Sequence[Claim], table: Frame) -> Verdict:
    """Do all parts of H* hold? One that fails is enough to refute it, one that is undecided leaves it open."""
    found = [part.check(table) for part in parts if part.concerns(table)]
    good, bad = (sum(one.status == status for one in found) for status in ("reproduced", "not reproduced"))
    seen, n = f"of {len(parts)} parts, {good} hold and {bad} fail", sum(verdict.n for verdict in found)
    verdict = judge(good == len(parts), seen, n)
    return verdict if bad or good == len(parts) else replace(verdict, status=OPEN)
