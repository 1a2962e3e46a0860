"""Groups of weights by their fate: the readings of eq. 5 under which claims about them are judged, and their panels."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.gridspec import GridSpec

from prunefield.core.figures import fill_with_legend, pick_shade
from prunefield.papers import Frame, Verdict, judge, replace_rows, rows
from prunefield.papers._kit import BLACK, BLUE, GREEN, GREY, PALETTE, VERMILION
from prunefield.papers.redman2025._intervals import draw_mean

AGREEING = 0.9  # share of groups in which two ways of computing must have the same sign
READING = "corrected"  # the one by which claims are judged
READINGS = {
    READING: "per class, corrected",
    "exact": "per class, as printed",
    "corrected_mean": "of the mean, corrected",
    "of_mean": "of the mean kurtosis",
    "pooled": "classes pooled",
}
READING_CHOICE = (
    "Claims are judged by eq. 5 in each class, corrected for the number of images; what each other reading gives is in "
    "the note of the claim. Why: as printed, sign and change come from the same images. Removing a weight moves a "
    "kurtosis that is off 3 by chance back towards 3, so every score is shifted down, by 2.6 a²(1 − ρ²)/√n for n "
    "Gaussian images and a weight with the share a² of the variance. The shift is larger for larger weights: shuffled "
    "fates show it, but cannot be subtracted. In the corrected score the sign comes from one half of the images of a "
    "class and the change from the other: its mean is zero for every elliptical law, at any n; for other laws wrong "
    "signs shrink it. Classes are not pooled and kurtoses are not averaged first, because the paper computes the score "
    "for each class separately (Sec. 3.3). This reading was chosen for its bias alone, in simulations, but after "
    "laptop results of the others had been seen."
)
CONTROLS = {"fate": "IMP's fates", "shuffled": "fates shuffled", "magnitude": "by |θ(rewind)|", "oneshot": "one-shot"}
COLOURS = dict(zip(CONTROLS, (BLACK, VERMILION, GREEN, BLUE), strict=True))
WHAT = "mean cavity scores of the groups of weights that are removed in each round"
REMOVED = "removed in round (∞: never)"
shuffled = replace_rows({"by": "fate"}, by={"by": "shuffled"})  # scores do not depend on when a weight is pruned


def pruned(table: Frame, by: str = "fate") -> Frame:
    """The groups that are pruned in some round, survivors left out."""
    return rows(table, by=by, survives=False)


def find_group(table: Frame, number: int) -> int:
    """The group pruned at the density at which the paper's group of this number is half pruned."""
    middle = 0.7 ** (number - 0.5)
    return int(table["group"][(table["before"] > middle) & (middle >= table["after"])].iloc[0])


def judge_readings(measure: Callable[[str], tuple[bool, str]], n: int, note: str = "") -> Verdict:
    """The verdict of one reading, with those of the others in its note; `measure` takes the name of a column."""
    good, observed = measure(READING)
    others = {label: measure(name) for name, label in READINGS.items() if name != READING}
    told = "; ".join(f"{label}: {'holds' if found else 'fails'} ({text})" for label, (found, text) in others.items())
    return judge(good, observed, n, f"{note}; {told}" if note else told)


def share_signs(table: Frame, by: str, name: str = READING) -> np.ndarray:
    """For each seed the share of groups with the sign of Fig. 5C, next positive and later negative, for n ≥ 1."""
    groups = pruned(table, by)
    later = groups["group"] > groups["round"] + 1
    right = np.where(later, groups[name] < 0, groups[name] > 0)
    return groups.assign(right=right)[groups["round"] > 0].groupby("seed")["right"].mean().to_numpy()


def share_excess(table: Frame, name: str) -> float:
    """By how much the share of signs as in Fig. 5C exceeds that with fates shuffled."""
    fate, chance = (share_signs(table, by, name).mean() for by in ("fate", "shuffled"))
    return float(fate - chance)


def compare_signs(table: Frame, by: str) -> Verdict:
    """Whether IMP's fates have more of these signs than a control, in every seed."""

    def measure(name: str) -> tuple[bool, str]:
        ours, theirs = share_signs(table, "fate", name), share_signs(table, by, name)
        return bool((ours > theirs).all()), f"{ours.mean():.2f} against {theirs.mean():.2f} of the signs"

    return judge_readings(measure, 2 * count_signs(table))


def count_signs(table: Frame) -> int:
    """The groups that have a sign in Fig. 5C."""
    return int((pruned(table)["round"] > 0).sum())


def judge_signs_agree(table: Frame, names: tuple[str, ...], note: str = "") -> Verdict:
    """Whether scores that are computed in other ways have the signs of those by which claims are judged."""
    groups = pruned(table)
    shares = {name: ((groups[name] > 0) == (groups[READING] > 0)).mean() for name in names}
    labels = READINGS | {"first": "first order"}
    seen = "; ".join(f"{labels[name]}: {share:.2f}" for name, share in shares.items())
    observed = f"share of groups with the sign of the corrected score; {seen}"
    return judge(min(shares.values()) >= AGREEING, observed, (1 + len(names)) * len(groups), note)


def opposite_signs(table: Frame) -> Frame:
    """The null: the opposite sign in the other ways of computing."""
    return table.assign(**{name: -table[name] for name in (*READINGS, "first") if name != READING})


def add_panels(figure: Any, grid: GridSpec, top: int, alike: int) -> list[Axes]:
    """Two rows of three panels, the first `alike` of them with one scale of scores; the last is for a legend."""
    panels = [figure.add_subplot(grid[top + place // 3, place % 3]) for place in range(6)]
    for place, axes in enumerate(panels[:-1]):
        axes.axhline(0, color=GREY, linewidth=0.6)
        if 0 < place < alike:
            axes.sharey(panels[0])
            axes.tick_params(labelleft=place % 3 == 0)
    return panels


def draw_rounds(panels: Sequence[Axes], table: Frame) -> None:
    """Corrected scores by group: all controls at n = 0 (Fig. 5B), then each at every round (Fig. 5C)."""
    first, *others, legend = panels
    draw_controls(first, table, READING)
    first.set_title("all, n = 0")
    for axes in (first, others[2]):
        axes.set_ylabel(f"N_W · mean score,\n{READINGS[READING]}")
    for axes, (by, label) in zip(others, CONTROLS.items(), strict=True):
        part = rows(table, by=by)
        last = part["round"].max()
        for n in range(last + 1):
            draw_groups(axes, rows(part, round=n), READING, pick_shade(n, last + 1), f"n = {n}")
        axes.set_title(label, color=COLOURS[by])
        name_groups(axes, table)
    fill_with_legend(legend, others, "each by itself, after n rounds", ncols=2)


def draw_readings(panels: Sequence[Axes], table: Frame) -> None:
    """All controls at n = 0 in each other reading; last, the group that is next after n rounds, in all readings."""
    *first, after, legend = panels
    others = [name for name in READINGS if name != READING]
    for axes, name in zip(first, others, strict=True):
        draw_controls(axes, table, name)
        axes.set_title(READINGS[name])
    for axes in (first[0], first[3]):
        axes.set_ylabel("N_W · mean score,\nother reading, n = 0")
    groups = pruned(table)
    following = groups[groups["group"] == groups["round"] + 1]
    for (name, label), colour in zip(READINGS.items(), PALETTE, strict=False):
        values = following.pivot(index="round", columns="seed", values=name)
        draw_mean(after, values.index.to_list(), values, colour, label, markersize=3, linewidth=1)
    after.set_title("the next group")
    after.set(xticks=sorted(set(following["round"])), xlabel="after n rounds")
    fill_with_legend(legend, [after], "the next group")


def draw_controls(axes: Axes, table: Frame, name: str) -> None:
    for by, label in CONTROLS.items():
        draw_groups(axes, rows(table, by=by, round=0), name, COLOURS[by], label)
    name_groups(axes, table)


def name_groups(axes: Axes, table: Frame) -> None:
    """The rounds of removal below a panel; the last group is never removed."""
    groups = sorted(set(table["group"]))
    axes.set_xticks(groups, [*(str(group) for group in groups[:-1]), "∞"])
    axes.set_xlabel(REMOVED)


def draw_groups(axes: Axes, table: Frame, name: str, colour: object, label: str) -> None:
    values = table.pivot(index="group", columns="seed", values=name)
    draw_mean(axes, values.index.to_list(), values, colour, label, markersize=3, linewidth=1)
