"""Fig. 5 of redman2025: cavity scores of weights by the round in which they are pruned, with four controls."""

from collections.abc import Mapping

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from prunefield.papers import Frame, Item, Scale, Verdict, judge, numbers, replace_rows, rows
from prunefield.papers._kit import BLACK, BLUE, GREEN, GREY, SEQUENCE, VERMILION
from prunefield.papers.redman2025._cavities import CAVITY_CHOICE, SCORES, cavities, read_groups
from prunefield.papers.redman2025._curves import correlate_ranks
from prunefield.papers.redman2025._ideal import ROUNDS, Case, fill_table
from prunefield.papers.redman2025._intervals import INTERVAL_CHOICE, add_intervals, draw_mean
from prunefield.papers.redman2025._nets import DATA, SCALES, SHARED_CHOICES, claim_on_nets
from prunefield.papers.redman2025._pictures import split_panels
from prunefield.runs import Result, Run

EARLY, LATE = 0.48, 0.35  # the paper's groups 1 and 2 are gone at density 0.49, its groups from 4 on begin at 0.343
ZERO = 0.25  # "approximately zero": at most this share of the largest |score| of a group
FALLING = -0.9  # rank correlation of a group's score with its round of removal
AGREEING = 0.9  # share of groups in which two ways of computing must have the same sign
NEUTRAL, STRIKING, DEEP = 3, 8, -0.1  # two groups that the paper singles out, and the line for the second
CONTROLS = {"fate": "IMP's fates", "shuffled": "fates shuffled", "magnitude": "by |θ(rewind)|", "oneshot": "one-shot"}
COLOURS = dict(zip(CONTROLS, (BLACK, VERMILION, GREEN, BLUE), strict=True))
shuffled = replace_rows({"by": "fate"}, by={"by": "shuffled"})  # scores do not depend on when a weight is pruned


def pruned(table: Frame, by: str = "fate") -> Frame:
    """The groups that are pruned in some round, survivors left out."""
    return rows(table, by=by, survives=False)


def find_group(table: Frame, number: int) -> int:
    """The group pruned at the density at which the paper's group of this number is half pruned."""
    middle = 0.7 ** (number - 0.5)
    return int(table["group"][(table["before"] > middle) & (middle >= table["after"])].iloc[0])


def share_signs(table: Frame, by: str) -> np.ndarray:
    """For each seed the share of groups with the sign of Fig. 5C, next positive and later negative, for n ≥ 1."""
    groups = pruned(table, by)
    later = groups["group"] > groups["round"] + 1
    right = np.where(later, groups["exact"] < 0, groups["exact"] > 0)
    return groups.assign(right=right)[groups["round"] > 0].groupby("seed")["right"].mean().to_numpy()


def compare_signs(table: Frame, by: str, what: str) -> Verdict:
    """Whether IMP's fates have more of these signs than a control, in every seed."""
    ours, theirs = share_signs(table, "fate"), share_signs(table, by)
    observed = f"signs that agree with the paper: IMP's fates {ours.mean():.2f}, {what} {theirs.mean():.2f}"
    return judge((ours > theirs).all(), observed, 2 * len(pruned(table)))


def judge_agreement(table: Frame, names: tuple[str, ...], note: str) -> Verdict:
    """Whether scores that are computed in other ways have the signs of the exact ones."""
    groups = pruned(table)
    shares = {name: ((groups[name] > 0) == (groups["exact"] > 0)).mean() for name in names}
    observed = "same sign as exact: " + ", ".join(f"{name} {share:.2f}" for name, share in shares.items())
    return judge(min(shares.values()) >= AGREEING, observed, (1 + len(names)) * len(groups), note)


def opposite_signs(table: Frame) -> Frame:
    """The null: the opposite sign in the other ways of computing."""
    return table.assign(**{name: -table[name] for name in SCORES[1:]})


class Fig5(Item):
    """Mean cavity score by round of removal, at round 0 (B) and at every round (C) (redman2025, Fig. 5, Sec. 3.3)."""

    title = "Cavity scores by the round in which weights are pruned"
    size = (13, 3.4 * len(DATA))
    scales = SCALES
    open_choices = (
        *SHARED_CHOICES,
        CAVITY_CHOICE,
        "N_W(n) is taken as the number of kept inputs of a unit, not of all parameters: only then does −0.1 have the "
        "right order of magnitude.",
        "Groups at smoke scale (5 rounds of 45 %) are judged at the densities of the paper's groups: early if pruned "
        "at a density above 0.48, late if still kept at 0.35; here these are group 1, and groups from 3 on; groups 2 "
        "and 5 correspond to the paper's 3 and 8. Survivors are drawn but left out of the claims.",
        "Our own controls: fates shuffled among the weights of a unit; groups of the same sizes by |θ(rewind)|, the "
        "smallest first; masks and fates of one-shot pruning; the first order in the weight; two other averages.",
        "To first order the scores of a unit sum to zero in each class, so if later groups are negative, the next "
        "one must be positive: the two halves of the pattern are not independent.",
        INTERVAL_CHOICE,
        "All criteria but one were written before any score of these nets had been seen: at n = 0 the text has two "
        "positive groups (Fig. 5B) and then says that all but the next are negative (Fig. 5C), so Fig. 5C is judged "
        "from n = 1 on.",
    )

    def runs(self, scale: Scale) -> list[Run]:
        return cavities(scale)

    def table(self, results: Mapping[Run, Result]) -> Frame:
        """One row per data set, seed, control, round n and group."""
        return add_intervals(read_groups(results), ("exact",), ("data", "by", "round", "group"))

    def ideal(self) -> Frame:
        """The signs of Fig. 5, group 3 near zero at n = 0; in the controls all groups are slightly below zero."""

        def fill(case: Case) -> Case:
            n, group, later = case["round"], case["group"], case["group"] - case["round"] - 1
            score = 0.3 - 0.14 * later if n == 0 or later == 0 else -0.14 * later
            share = {"survives": group > ROUNDS, "before": 0.7 ** (group - 1), "after": 0.7**group}
            return share | dict.fromkeys(SCORES, score if case["by"] == "fate" else -0.02)

        table = fill_table(fill, by=CONTROLS, round=range(ROUNDS), group=range(1, ROUNDS + 2))
        return table[table["group"] > table["round"]]

    @claim_on_nets(
        "Before any pruning, weights that are pruned early have positive cavity scores and those pruned late have "
        "negative ones",
        at="Sec. 3.3, Fig. 5B",
        expect="groups 1 and 2 positive, groups from 4 on negative, in every seed",
        null=shuffled,
    )
    def early_and_late(table: Frame) -> Verdict:
        first = rows(pruned(table), round=0)
        early, late = first["exact"][first["after"] > EARLY], first["exact"][first["before"] < LATE]
        means = ", ".join(f"{value:+.3f}" for value in first.groupby("group")["exact"].mean())
        return judge((early > 0).all() and (late < 0).all(), f"at n = 0 by group: {means}", early.size + late.size)

    @claim_on_nets(
        "Weights that are pruned in round 3 have a score of approximately zero before any pruning",
        at="Sec. 3.3, Fig. 5B",
        expect=f"at most {ZERO} of the largest |score| of a group, in every seed",
        null=shuffled,
    )
    def neutral(table: Frame) -> Verdict:
        first = rows(pruned(table), round=0)
        third = find_group(first, NEUTRAL)
        sizes = first.pivot(index="seed", columns="group", values="exact").abs()
        shares = sizes[third] / sizes.max(axis=1)
        observed = f"|score| of group {third} is at most {shares.max():.2f} of the largest"
        return judge(shares.max() <= ZERO, observed, shares.size)

    @claim_on_nets(
        "Weights that are removed in round r have a positive mean score after r − 1 rounds",
        at="Sec. 3.3, Fig. 5C",
        expect="in every round and seed",
        null=shuffled,
    )
    def next_is_positive(table: Frame) -> Verdict:
        groups = pruned(table)
        scores = numbers(groups[groups["group"] == groups["round"] + 1], "exact")
        good = (scores > 0).sum()
        observed = f"{good} of {scores.size} (rounds × seeds) are positive; mean {scores.mean():+.4f}"
        note = f"all groups with fates shuffled: mean {pruned(table, 'shuffled')['exact'].mean():+.4f}"
        return judge(good == scores.size, observed, scores.size, note)

    @claim_on_nets(
        "After r − 1 rounds the group of round r is positive and all later ones are negative",
        at="Sec. 3.3, Fig. 5C",
        expect="every sign in every seed, from n = 1 on",
        null=shuffled,
    )
    def all_signs(table: Frame) -> Verdict:
        shares = {by: share_signs(table, by).mean() for by in CONTROLS}
        others = ", ".join(f"{by} {share:.2f}" for by, share in shares.items() if by != "fate")
        observed = f"{shares['fate']:.2f} of the signs agree with the paper; {others}"
        return judge(shares["fate"] == 1, observed, len(pruned(table)))

    @claim_on_nets(
        "The scores of weights that are pruned in round 8 are well below zero until round 7, then positive",
        at="Sec. 3.3, Fig. 5C",
        expect=f"below {DEEP} (times N_W) for n = 0 to 6 and above 0 for n = 7, in every seed",
        null=shuffled,
    )
    def striking(table: Frame) -> Verdict:
        last = find_group(pruned(table), STRIKING) - 1
        scores = rows(pruned(table), group=last + 1).pivot(index="round", columns="seed", values="exact").to_numpy()
        before, then = (f"{part.min():+.3f} to {part.max():+.3f}" for part in (scores[:last], scores[last]))
        good = scores[:last].max() < DEEP and scores[last].min() > 0
        return judge(good, f"n ≤ {last - 1}: {before}; n = {last}: {then}", scores.size)

    @claim_on_nets(
        "Before any pruning, the order of the scores is the order of removal",
        at="Sec. 4 (future directions)",
        expect=f"rank correlation of score and round at most {FALLING} in every seed",
        null=shuffled,
    )
    def in_order(table: Frame) -> Verdict:
        parts = {by: rows(pruned(table, by), round=0).groupby("seed") for by in CONTROLS}
        falls = {
            by: max(correlate_ranks(part["exact"], part["group"]) for _, part in seeds) for by, seeds in parts.items()
        }
        others = ", ".join(f"{by} {fall:+.2f}" for by, fall in falls.items() if by != "fate")
        observed = f"at most {falls['fate']:+.2f}; {others}"
        return judge(falls["fate"] <= FALLING, observed, len(rows(pruned(table), round=0)))

    @claim_on_nets(
        "The pattern reflects IMP's fates and not the magnitudes at the rewind point",
        at="our control (Sec. 3.3: magnitude is not strongly connected to the score)",
        expect="in every seed more signs agree with the paper than for groups by |θ(rewind)|",
        null=replace_rows({"by": "fate"}, by={"by": "magnitude"}),
    )
    def beyond_magnitude(table: Frame) -> Verdict:
        return compare_signs(table, "magnitude", "groups by |θ(rewind)|")

    @claim_on_nets(
        "The pattern is specific to iterative pruning and absent from one-shot pruning",
        at="our control (Sec. 3.3: order, in addition to identity)",
        expect="in every seed more signs agree with the paper than with the masks and fates of one-shot pruning",
        null=replace_rows({"by": "fate"}, by={"by": "oneshot"}),
    )
    def beyond_oneshot(table: Frame) -> Verdict:
        return compare_signs(table, "oneshot", "one-shot pruning's fates")

    @claim_on_nets(
        "The first order in the weight explains the signs",
        at="our control",
        expect=f"the same sign in {100 * AGREEING:.0f} % of the groups",
        null=opposite_signs,
    )
    def first_order(table: Frame) -> Verdict:
        return judge_agreement(table, ("first",), "first order and exact")

    @claim_on_nets(
        "The signs do not depend on how classes are averaged, which the paper does not specify",
        at="our control (Sec. 3.3)",
        expect=f"the same sign in {100 * AGREEING:.0f} % of the groups",
        null=opposite_signs,
    )
    def averaging(table: Frame) -> Verdict:
        ways = "score per class, of the mean kurtosis, and of all images as one class"
        return judge_agreement(table, ("of_mean", "pooled"), ways)

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        for data, mine, panels in split_panels(figure, table, 1 + len(CONTROLS), sharey="row"):
            for axes, (by, label) in zip(panels[1:], CONTROLS.items(), strict=True):
                part = rows(mine, by=by)
                draw_groups(panels[0], rows(part, round=0), COLOURS[by], label)
                for n in range(part["round"].max() + 1):
                    colour = colormaps[SEQUENCE](0.9 * n / max(1, part["round"].max()))
                    draw_groups(axes, rows(part, round=n), colour, f"{n}")
                axes.set_title(f"C  {label}", loc="left", fontweight="bold", color=COLOURS[by])
            panels[0].set_title(f"B  {data}, n = 0", loc="left", fontweight="bold")
            panels[0].set_ylabel("N_W · mean cavity score")
            panels[0].legend(fontsize=6)
            panels[-1].legend(fontsize=6, title="after n rounds", ncols=2)
            for axes in panels:
                axes.axhline(0, color=GREY, linewidth=0.6)
                axes.set(xticks=sorted(set(mine["group"])), xlabel="removed in round (last: never)")


def draw_groups(axes: Axes, table: Frame, colour: object, label: str) -> None:
    values = table.pivot(index="group", columns="seed", values="exact")
    draw_mean(axes, values.index.to_list(), values, colour, label, markersize=3, linewidth=1)
