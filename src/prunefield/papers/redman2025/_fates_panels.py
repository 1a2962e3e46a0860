"""The panels of Fig. 5: groups of weights at every round, and the readings of eq. 5 side by side."""

from collections.abc import Sequence

from matplotlib import colormaps
from matplotlib.axes import Axes

from prunefield.papers import Frame, rows
from prunefield.papers._kit import PALETTE, SEQUENCE
from prunefield.papers.redman2025._fates import COLOURS, CONTROLS, READING, READINGS, pruned
from prunefield.papers.redman2025._intervals import draw_mean

REMOVED = "removed in round (last: never)"


def draw_rounds(panels: Sequence[Axes], table: Frame, data: str) -> None:
    """Corrected scores by group: all controls at n = 0 (B), then each at every round (C)."""
    draw_controls(panels[0], table, READING)
    panels[0].set_title(f"B  {data}, n = 0", loc="left", fontweight="bold")
    panels[0].set_ylabel(f"N_W · mean cavity score,\n{READINGS[READING]}")
    panels[0].legend(fontsize=6)
    for axes, (by, label) in zip(panels[1:], CONTROLS.items(), strict=True):
        part = rows(table, by=by)
        last = part["round"].max()
        for n in range(last + 1):
            draw_groups(axes, rows(part, round=n), READING, colormaps[SEQUENCE](0.9 * n / max(1, last)), f"{n}")
        axes.set_title(f"C  {label}", loc="left", fontweight="bold", color=COLOURS[by])
        axes.set(xticks=sorted(set(table["group"])), xlabel=REMOVED)
    panels[-1].legend(fontsize=6, title="after n rounds", ncols=2)


def draw_readings(panels: Sequence[Axes], table: Frame) -> None:
    """All controls at n = 0 in each other reading; last, the group that is next after n rounds, in all readings."""
    others = [name for name in READINGS if name != READING]
    for axes, name in zip(panels, others, strict=False):
        draw_controls(axes, table, name)
        axes.set_title(f"n = 0, {READINGS[name]}", loc="left", fontsize=9)
    panels[0].set_ylabel("N_W · mean cavity score,\nother readings")
    groups = pruned(table)
    following = groups[groups["group"] == groups["round"] + 1]
    for (name, label), colour in zip(READINGS.items(), PALETTE, strict=False):
        values = following.pivot(index="round", columns="seed", values=name)
        draw_mean(panels[-1], values.index.to_list(), values, colour, label, markersize=3, linewidth=1)
    panels[-1].set_title("the next group, all readings", loc="left", fontsize=9)
    panels[-1].set(xticks=sorted(set(following["round"])), xlabel="after n rounds")
    panels[-1].legend(fontsize=6)


def draw_controls(axes: Axes, table: Frame, name: str) -> None:
    for by, label in CONTROLS.items():
        draw_groups(axes, rows(table, by=by, round=0), name, COLOURS[by], label)
    axes.set(xticks=sorted(set(table["group"])), xlabel=REMOVED)


def draw_groups(axes: Axes, table: Frame, name: str, colour: object, label: str) -> None:
    values = table.pivot(index="group", columns="seed", values=name)
    draw_mean(axes, values.index.to_list(), values, colour, label, markersize=3, linewidth=1)
