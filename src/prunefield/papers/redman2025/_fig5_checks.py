"""The checks of Fig. 5: pure functions of its table, with their criteria.

Scores are those of eq. 5, times N_W(n). Groups are compared at densities, since a round need not remove 30 %.
"""

from statistics import correlation, mean
from typing import TYPE_CHECKING

from prunefield.papers import Verdict
from prunefield.papers._rows import column, rows
from prunefield.papers.redman2025._claims import judge

if TYPE_CHECKING:
    from pandas import DataFrame

EARLY, LATE = 0.48, 0.35  # the paper's groups 1 and 2 are gone at density 0.49, its groups from 4 on begin at 0.343
ZERO = 0.25  # "approximately zero": at most this share of the largest |score| of a group
FALLING = -0.9  # rank correlation of a group's score with its round of removal
AGREEING = 0.9  # share of groups in which two ways of computing must have the same sign
NEUTRAL, STRIKING, DEEP = 3, 8, -0.1  # two groups that the paper singles out, and the line for the second


def pruned(table: "DataFrame", by: str = "fate") -> "DataFrame":
    """The groups that are pruned in some round, survivors left out."""
    import pandas

    chosen = rows(table, by=by)
    return pandas.DataFrame(chosen[~chosen["survives"]]).reset_index(drop=True)


def find_group(table: "DataFrame", number: int) -> int:
    """The group pruned at the density at which the paper's group of this number is half pruned."""
    middle = 0.7 ** (number - 0.5)
    places = zip(column(table, "before"), column(table, "after"), column(table, "group"), strict=True)
    return int(next(group for before, after, group in places if before > middle >= after))


def signs(table: "DataFrame", by: str) -> list[float]:
    """For each seed the share of groups with the paper's sign, next positive and later negative, for n ≥ 1.

    At n = 0 the paper itself has a second positive group (Fig. 5B).
    """
    found = []
    for seed in table["seed"].unique():
        groups = rows(pruned(table, by), seed=seed)
        places = zip(column(groups, "round"), column(groups, "group"), column(groups, "exact"), strict=True)
        right = [score > 0 if group == n + 1 else score < 0 for n, group, score in places if n > 0]
        found.append(sum(right) / len(right))
    return found


def check_first_round(table: "DataFrame") -> Verdict:
    first = rows(pruned(table), round=0)
    scores = list(zip(column(first, "before"), column(first, "after"), column(first, "exact"), strict=True))
    early = [score for _, after, score in scores if after > EARLY]
    late = [score for before, _, score in scores if before < LATE]
    means = [mean(column(rows(first, group=group), "exact")) for group in first["group"].unique()]
    observed = "at n = 0 by group: " + ", ".join(f"{value:+.3f}" for value in means)
    return judge(min(early) > 0 and max(late) < 0, observed, len(early) + len(late))


def check_third(table: "DataFrame") -> Verdict:
    first = rows(pruned(table), round=0)
    third, shares = find_group(first, NEUTRAL), []
    for seed in first["seed"].unique():
        mine = rows(first, seed=seed)
        shares.append(abs(column(rows(mine, group=third), "exact")[0]) / max(map(abs, column(mine, "exact"))))
    observed = f"|score| of group {third} is at most {max(shares):.2f} of the largest"
    return judge(max(shares) <= ZERO, observed, len(shares))


def check_next(table: "DataFrame") -> Verdict:
    groups = pruned(table)
    chosen = column(rows(groups.assign(next=groups["group"] == groups["round"] + 1), next=True), "exact")
    good = sum(value > 0 for value in chosen)
    observed = f"{good} of {len(chosen)} (rounds × seeds) are positive; mean {mean(chosen):+.4f}"
    chance = column(pruned(table, "shuffled"), "exact")
    note = f"all groups with fates shuffled: mean {mean(chance):+.4f}"
    return judge(good == len(chosen), observed, len(chosen), note)


def check_pattern(table: "DataFrame") -> Verdict:
    share = mean(signs(table, "fate"))
    others = ", ".join(f"{by} {mean(signs(table, by)):.2f}" for by in ("shuffled", "magnitude", "oneshot"))
    return judge(share == 1, f"{share:.2f} of the signs agree with the paper; {others}", len(pruned(table)))


def check_striking(table: "DataFrame") -> Verdict:
    groups = pruned(table)
    group = find_group(groups, STRIKING)
    mine, last = rows(groups, group=group), group - 1
    before = [value for n in range(last) for value in column(rows(mine, round=n), "exact")]
    then = column(rows(mine, round=last), "exact")
    observed = (
        f"n ≤ {last - 1}: {min(before):+.3f} to {max(before):+.3f}; n = {last}: {min(then):+.3f} to {max(then):+.3f}"
    )
    return judge(max(before) < DEEP and min(then) > 0, observed, len(before) + len(then))


def falls(table: "DataFrame", by: str) -> list[float]:
    """The rank correlation of score and round of removal at n = 0, in each seed."""
    first = rows(pruned(table, by), round=0)
    parts = [rows(first, seed=seed) for seed in first["seed"].unique()]
    return [correlate_ranks(column(part, "exact"), column(part, "group")) for part in parts]


def check_fall(table: "DataFrame") -> Verdict:
    found = falls(table, "fate")
    others = ", ".join(f"{by} {max(falls(table, by)):+.2f}" for by in ("shuffled", "magnitude", "oneshot"))
    return judge(max(found) <= FALLING, f"at most {max(found):+.2f}; {others}", len(rows(pruned(table), round=0)))


def check_against_magnitude(table: "DataFrame") -> Verdict:
    return _compare(table, "magnitude", "groups by |θ(rewind)|")


def check_against_oneshot(table: "DataFrame") -> Verdict:
    return _compare(table, "oneshot", "one-shot pruning's fates")


def _compare(table: "DataFrame", by: str, what: str) -> Verdict:
    ours, theirs = signs(table, "fate"), signs(table, by)
    observed = f"signs that agree with the paper: IMP's fates {mean(ours):.2f}, {what} {mean(theirs):.2f}"
    good = all(one > other for one, other in zip(ours, theirs, strict=True))
    return judge(good, observed, 2 * len(pruned(table)))


def check_first_order(table: "DataFrame") -> Verdict:
    return _agree(table, ("first",), "first order and exact")


def check_averaging(table: "DataFrame") -> Verdict:
    return _agree(table, ("of_mean", "pooled"), "score per class, of the mean kurtosis, and of all images as one class")


def _agree(table: "DataFrame", names: tuple[str, ...], what: str) -> Verdict:
    groups = pruned(table)
    shares = {}
    for name in names:
        pairs = zip(column(groups, name), column(groups, "exact"), strict=True)
        shares[name] = mean([float((other > 0) == (exact > 0)) for other, exact in pairs])
    observed = "same sign as exact: " + ", ".join(f"{name} {share:.2f}" for name, share in shares.items())
    return judge(min(shares.values()) >= AGREEING, observed, (1 + len(names)) * len(groups), what)


def fate_as(by: str, table: "DataFrame") -> "DataFrame":
    """The table with a control instead of IMP's fates."""
    import pandas

    others = [rows(table, by=other) for other in table["by"].unique() if other != "fate"]
    return pandas.concat([*others, rows(table, by=by).assign(by="fate")], ignore_index=True)


def shuffled_fates(table: "DataFrame") -> "DataFrame":
    """The table with scores that do not depend on when a weight is pruned."""
    return fate_as("shuffled", table)


def opposite_signs(table: "DataFrame") -> "DataFrame":
    """The table with the opposite sign in the other ways of computing."""
    return table.assign(**{name: -table[name] for name in ("first", "of_mean", "pooled")})


def correlate_ranks(first: list[float], second: list[float]) -> float:
    """Spearman's correlation; 0 for constants."""
    from scipy.stats import rankdata

    if min(len(set(first)), len(set(second))) < 2:
        return 0.0
    return correlation(rankdata(first).tolist(), rankdata(second).tolist())
