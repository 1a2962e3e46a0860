"""Fig. 5 of redman2025: cavity scores of weights by the round in which they are pruned, with four controls."""

from collections.abc import Mapping

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from prunefield.core.figures import add_legend, letter_panels, title_part
from prunefield.papers import Frame, Scale, Verdict, judge, numbers, replace_rows, rows
from prunefield.papers.redman2025._cavities import CAVITY_CHOICE, cavities, read_groups
from prunefield.papers.redman2025._curves import METHOD_NAMES, correlate_ranks
from prunefield.papers.redman2025._fates import (
    AGREEING,
    CONTROLS,
    READING,
    READING_CHOICE,
    WHAT,
    add_panels,
    compare_signs,
    count_signs,
    draw_readings,
    draw_rounds,
    find_group,
    judge_readings,
    judge_signs_agree,
    opposite_signs,
    pruned,
    share_signs,
    shuffled,
)
from prunefield.papers.redman2025._ideal import fill_scores
from prunefield.papers.redman2025._intervals import INTERVAL_CHOICE, add_intervals, explain_band
from prunefield.papers.redman2025._nets import DATA, SCALES, SHARED_CHOICES, claim_on_nets
from prunefield.papers.redman2025._parts import NetItem
from prunefield.papers.redman2025._pictures import fit_height
from prunefield.runs import Result, Run

EARLY, LATE = 0.48, 0.35  # the paper's groups 1 and 2 are gone at density 0.49, its groups from 4 on begin at 0.343
ZERO, FALLING = 0.25, -0.9  # share of the largest |score| of a group; rank correlation with the round of removal
NEUTRAL, STRIKING, DEEP = 3, 8, -0.1  # two groups that the paper singles out, and the line for the second


class Fig5(NetItem):
    """Mean cavity score by round of removal, at round 0 (B) and at every round (C) (redman2025, Fig. 5, Sec. 3.3)."""

    title = "Cavity scores by the round in which weights are pruned"
    size = (11, 11 * len(DATA))
    scales = SCALES
    from_values = True
    open_choices = (
        *SHARED_CHOICES,
        CAVITY_CHOICE,
        READING_CHOICE,
        "N_W(n) is taken as the number of kept inputs of a unit, not of all parameters: only then does −0.1 have the "
        "right order of magnitude.",
        "Groups at smoke scale (5 rounds of 45%) are judged at the densities of the paper's groups: early if pruned "
        "at a density above 0.48, late if still kept at 0.35; here these are group 1, and groups from 3 on; groups 2 "
        "and 5 correspond to the paper's 3 and 8. Survivors are drawn but left out of the claims.",
        "Our own controls: fates shuffled among the weights of a unit; groups of the same sizes by |θ(rewind)|, the "
        "smallest first; masks and fates of one-shot pruning; the first order in the weight; other readings.",
        "To first order the scores of a unit sum to zero in each class, so if later groups are negative, the next "
        "one must be positive: the two halves of the pattern are not independent.",
        INTERVAL_CHOICE,
        "All criteria but those on the reading and on shuffled fates were written before any score of these nets had "
        "been seen. One was changed: at n = 0 the text has two "
        "positive groups (Fig. 5B) and then says that all but the next are negative (Fig. 5C), so Fig. 5C is judged "
        "from n = 1 on.",
    )

    def runs(self, scale: Scale) -> list[Run]:
        return cavities(scale)

    def table(self, results: Mapping[Run, Result]) -> Frame:
        """One row per data set, seed, control, round n and group."""
        return add_intervals(read_groups(results), (READING, "exact"), ("data", "by", "round", "group"))

    def ideal(self) -> Frame:
        return fill_scores()

    @claim_on_nets(
        "Before any pruning, weights that are pruned early have positive cavity scores and those pruned late have "
        "negative ones",
        at="Sec. 3.3, Fig. 5B",
        expect="groups 1 and 2 positive, groups from 4 on negative, in every seed",
        null=shuffled,
    )
    def early_and_late(table: Frame) -> Verdict:
        first = rows(pruned(table), round=0)
        early, late = first[first["after"] > EARLY], first[first["before"] < LATE]

        def measure(name: str) -> tuple[bool, str]:
            means = ", ".join(f"{value:+.3f}" for value in first.groupby("group")[name].mean())
            return bool((early[name] > 0).all() and (late[name] < 0).all()), f"at n = 0 by group: {means}"

        return judge_readings(measure, len(early) + len(late))

    @claim_on_nets(
        "Weights that are pruned in round 3 have a score of approximately zero before any pruning",
        at="Sec. 3.3, Fig. 5B",
        expect=f"at most {ZERO} of the largest |score| of a group, in every seed",
        null=shuffled,
    )
    def neutral(table: Frame) -> Verdict:
        first = rows(pruned(table), round=0)
        third = find_group(first, NEUTRAL)

        def measure(name: str) -> tuple[bool, str]:
            sizes = first.pivot(index="seed", columns="group", values=name).abs()
            share = (sizes[third] / sizes.max(axis=1)).max()
            return bool(share <= ZERO), f"|score| of group {third} is at most {share:.2f} of the largest"

        return judge_readings(measure, first["seed"].nunique())

    @claim_on_nets(
        "Weights that are removed in round r have a positive mean score after r − 1 rounds",
        at="Sec. 3.3, Fig. 5C",
        expect="in every round and seed",
        null=shuffled,
    )
    def next_is_positive(table: Frame) -> Verdict:
        groups, mixed = pruned(table), pruned(table, "shuffled")
        following = groups[groups["group"] == groups["round"] + 1]

        def measure(name: str) -> tuple[bool, str]:
            scores = numbers(following, name)
            good, size, chance = (scores > 0).sum(), scores.size, mixed[name].mean()
            observed = f"{good} of {size} positive, mean {scores.mean():+.4f}, fates shuffled {chance:+.4f}"
            return bool(good == size), observed

        return judge_readings(measure, len(following))

    @claim_on_nets(
        "After r − 1 rounds the group of round r is positive and all later ones are negative",
        at="Sec. 3.3, Fig. 5C",
        expect="every sign in every seed, from n = 1 on",
        null=shuffled,
    )
    def all_signs(table: Frame) -> Verdict:
        def measure(name: str) -> tuple[bool, str]:
            shares = {by: share_signs(table, by, name).mean() for by in CONTROLS}
            others = ", ".join(f"{METHOD_NAMES.get(by, by)} {shares[by]:.2f}" for by in CONTROLS if by != "fate")
            return bool(shares["fate"] == 1), f"{shares['fate']:.2f} of the signs; {others}"

        return judge_readings(measure, count_signs(table))

    @claim_on_nets(
        "The scores of weights that are pruned in round 8 are well below zero until round 7, then positive",
        at="Sec. 3.3, Fig. 5C",
        expect=f"below {DEEP} (times N_W) for n = 0 to 6 and above 0 for n = 7, in every seed",
        null=shuffled,
    )
    def striking(table: Frame) -> Verdict:
        last = find_group(pruned(table), STRIKING) - 1
        group = rows(pruned(table), group=last + 1)

        def measure(name: str) -> tuple[bool, str]:
            scores = group.pivot(index="round", columns="seed", values=name).to_numpy()
            before, then = (f"{part.min():+.3f} to {part.max():+.3f}" for part in (scores[:last], scores[last]))
            good = scores[:last].max() < DEEP and scores[last].min() > 0
            return bool(good), f"n ≤ {last - 1}: {before}; n = {last}: {then}"

        return judge_readings(measure, len(group))

    @claim_on_nets(
        "Before any pruning, the order of the scores is the order of removal",
        at="Sec. 4 (future directions)",
        expect=f"rank correlation of score and round at most {FALLING} in every seed",
        null=shuffled,
    )
    def in_order(table: Frame) -> Verdict:
        parts = {by: rows(pruned(table, by), round=0).groupby("seed") for by in CONTROLS}

        def measure(name: str) -> tuple[bool, str]:
            falls = {by: max(correlate_ranks(own[name], own["group"]) for _, own in part) for by, part in parts.items()}
            others = ", ".join(f"{METHOD_NAMES.get(by, by)} {fall:+.2f}" for by, fall in falls.items() if by != "fate")
            return falls["fate"] <= FALLING, f"correlation at most {falls['fate']:+.2f}; {others}"

        return judge_readings(measure, len(rows(pruned(table), round=0)))

    @claim_on_nets(
        "The pattern reflects IMP's fates and not {other}",
        at="our control (Sec. 3.3)",
        expect="in every seed more signs agree with the paper than {instead}",
        null=shuffled,
        each=[
            {
                "by": by,
                "other": other,
                "instead": instead,
                "null": replace_rows({"by": "fate"}, by={"by": by}),
            }
            for by, other, instead in (
                ("shuffled", "chance", "with fates shuffled"),
                ("magnitude", "the magnitudes at the rewind point", "for groups by |θ(rewind)|"),
                ("oneshot", "what one-shot pruning does too", "with the masks and fates of one-shot pruning"),
            )
        ],
    )
    def beyond_controls(table: Frame, by: str, **_: str) -> Verdict:
        return compare_signs(table, by)

    @claim_on_nets(
        "As printed, eq. 5 is biased for this number of images: random groups score lower than when corrected",
        at="our control (Sec. 3.3: trade-off between accuracy and the number of images)",
        expect="with fates shuffled, the mean as printed is below the corrected one, in every seed",
        null=lambda table: table.assign(exact=table[READING]),
    )
    def biased(table: Frame) -> Verdict:
        means = pruned(table, "shuffled").groupby("seed")[["exact", READING]].mean()
        observed = f"as printed {means['exact'].mean():+.4f}, corrected {means[READING].mean():+.4f}"
        return judge((means["exact"] < means[READING]).all(), observed, 2 * len(pruned(table, "shuffled")))

    @claim_on_nets(
        "The first order in the weight explains the signs",
        at="our control",
        expect=f"the same sign in {100 * AGREEING:.0f}% of the groups",
        null=opposite_signs,
    )
    def first_order(table: Frame) -> Verdict:
        return judge_signs_agree(table, ("first",))

    @claim_on_nets(
        "The signs do not depend on how classes are averaged, which the paper does not specify",
        at="our control (Sec. 3.3)",
        expect=f"the same sign in {100 * AGREEING:.0f}% of the groups",
        null=opposite_signs,
    )
    def averaging(table: Frame) -> Verdict:
        ways = "score per class, of the mean kurtosis (both corrected), and of all images as one class"
        return judge_signs_agree(table, ("corrected_mean", "pooled"), ways)

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        names = fit_height(figure, table)
        lettered: list[Axes] = []
        for part, data in zip(figure.subfigures(len(names), 1, squeeze=False)[:, 0], names, strict=True):
            title_part(part, data)
            grid = part.add_gridspec(4, 3)
            above, below = add_panels(part, grid, 0, alike=5), add_panels(part, grid, 2, alike=4)
            draw_rounds(above, rows(table, data=data))
            draw_readings(below, rows(table, data=data))
            lettered += above[:-1] + below[:-1]
        explain_band(lettered[0])
        letter_panels(lettered)
        add_legend(figure, lettered[:1], ncols=3, title=WHAT)
