"""The panels of Fig. 5: groups of weights at every round, and the readings of eq. 5 side by side."""

from collections.abc import Sequence

from matplotlib.axes import Axes

from prunefield.core.figures import pick_shade
from prunefield.papers import Frame, rows
from prunefield.papers._kit import PALETTE
from prunefield.papers.redman2025._fates import COLOURS, CONTROLS, READING, READINGS, pruned
from prunefield.papers.redman2025._intervals import draw_mean

REMOVED = "removed in round (∞: never)"


def draw_rounds(panels: Sequence[Axes], table: Frame, data: str) -> None:
    """Corrected scores by group: all controls at n = 0 (Fig. 5B), then each at every round (Fig. 5C)."""
    draw_controls(panels[0], table, READING)
    panels[0].set_title(f"{data}, n = 0", loc="left")
    panels[0].set_ylabel(f"N_W · mean cavity score,\n{READINGS[READING]}")
    for axes, (by, label) in zip(panels[1:], CONTROLS.items(), strict=True):
        part = rows(table, by=by)
        last = part["round"].max()
        for n in range(last + 1):
            draw_groups(axes, rows(part, round=n), READING, pick_shade(n, last + 1), f"{n}")
        axes.set_title(label, loc="left", color=COLOURS[by])
        name_groups(axes, table)
    panels[-1].legend(title="after n rounds", ncols=2, labelspacing=0.2, columnspacing=1, handlelength=1)


def draw_readings(panels: Sequence[Axes], table: Frame) -> None:
    """All controls at n = 0 in each other reading; last, the group that is next after n rounds, in all readings."""
    others = [name for name in READINGS if name != READING]
    for axes, name in zip(panels, others, strict=False):
        draw_controls(axes, table, name)
        axes.set_title(f"{READINGS[name]}, n = 0", loc="left")
    panels[0].set_ylabel("N_W · mean cavity score,\nother readings")
    groups = pruned(table)
    following = groups[groups["group"] == groups["round"] + 1]
    for (name, label), colour in zip(READINGS.items(), PALETTE, strict=False):
        values = following.pivot(index="round", columns="seed", values=name)
        draw_mean(panels[-1], values.index.to_list(), values, colour, label, markersize=3, linewidth=1)
    panels[-1].set_title("the next group", loc="left")
    panels[-1].set(xticks=sorted(set(following["round"])), xlabel="after n rounds")
    panels[-1].legend(labelspacing=0.2, handlelength=1)


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
