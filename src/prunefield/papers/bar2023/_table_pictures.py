"""How Tables 1 to 4 of bar2023 are drawn: differences of columns, and below them the accuracies, printed and ours."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes

from prunefield.measures.differences import estimate_mean
from prunefield.papers import Frame, rows
from prunefield.papers._kit import BLACK, GREY, PALETTE
from prunefield.papers.bar2023._night import MARGIN

ENOUGH = 3  # seeds from which on an interval is drawn: that of two rests on one difference, and may have no width
WIDTH = 9.5  # inches of the drawing
NAMES, PRINTED, OURS = 2.25, 0.58, 1.1  # inches of a table: names of its columns, one printed cell, one of ours
LINE, HEAD = 0.2, 4.6  # inches of a line; lines before the first column
CELL = ["data", "net", "density"]
KINDS = 4  # entries of the legend beside one for each cell
BELOW, SPREAD = 0.2, 0.3  # of a line: printed differences from its middle, ours as far above it; all of its cells
TICKS = (0, 1, 2, 5, 10, 20, 50)
ABSENT: dict[str, Any] = {"color": GREY, "fontsize": "small", "va": "center"}
KEPT = "% kept"  # ends the name of a toy whose density stands for a printed one


def draw_differences(axes: Axes, names: Sequence[str], printed: Iterable[Any], ours: Iterable[Frame]) -> None:
    """For each comparison the printed differences as crosses, ours above them: each seed, their mean, its interval."""
    cells: dict[str, str] = {}
    for place, (gaps, found) in enumerate(zip(printed, ours, strict=True)):
        axes.plot(gaps, [place + BELOW] * len(gaps), "x", color=GREY, label=None if place else "printed, each cell")
        groups = list(found.groupby(CELL)["gap"])
        for values, height, words in ((gaps, place + BELOW, "not in the paper"), (groups, place - BELOW, "not run")):
            if not len(values):
                axes.text(0.01, height, words, **ABSENT, transform=axes.get_yaxis_transform())
        if place:
            axes.axhline(place - 0.5, color=GREY, linewidth=0.4, alpha=0.6)
        for index, (cell, values) in enumerate(groups):
            name = name_cell(*cell)
            label = None if name in cells else name
            colour = cells.setdefault(name, PALETTE[len(cells) % len(PALETTE)])
            height = place - BELOW + SPREAD * ((index + 0.5) / len(groups) - 0.5)
            mean = estimate_mean(list(values))
            axes.plot(values, [height] * len(values), "o", color=colour, fillstyle="none", markersize=3, alpha=0.7)
            axes.plot(mean.mean, height, "o", color=colour, markersize=6, label=label)
            if len(values) >= ENOUGH:
                axes.plot([mean.low, mean.high], [height] * 2, color=colour, linewidth=1)
    axes.plot([], [], "o", color=BLACK, fillstyle="none", markersize=3, label="each seed (large: mean)")
    axes.plot([], [], color=BLACK, linewidth=1, label=f"95% interval, from {ENOUGH} seeds on")
    axes.axvspan(-MARGIN, MARGIN, color=GREY, alpha=0.15, linewidth=0, label=f"±{MARGIN:g} points: no effect")
    axes.axvline(0, color=BLACK, linewidth=0.8)
    axes.set_yticks(range(len(names)), names, va="center")  # upper lines are level with ours, lower ones with printed
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set(xscale="symlog", xlabel="difference of accuracies (points); logarithmic beyond ±2")
    low, high = axes.get_xlim()
    ticks = [tick for size in TICKS for tick in sorted({-size, size}) if low <= tick <= high]
    axes.set_xticks(ticks, [f"{tick:g}".replace("-", "−") for tick in ticks])


def name_cell(data: str, net: str, density: float) -> str:
    """
    >>> name_cell("leaves", "ResNet-8, width 4, 20% kept", 0.02)
    'leaves, ResNet-8, width 4, 20% kept for 2%'
    """
    return f"{data}, {net} for {density:.0%}" if net.endswith(KEPT) else f"{data}, {net}, {density:.0%}"


def measure_table(columns: int) -> float:
    """Height in inches of a table of accuracies."""
    return LINE * (columns + HEAD + 0.5)


def write_accuracies(axes: Axes, table: Frame, columns: Sequence[str], source: str) -> None:
    """A table of text: a line for each column of the paper's table, the cells beside each other."""
    cells = _list_cells(rows(table, source=source))
    step = PRINTED if source == "paper" else min(OURS, (WIDTH - NAMES) / max(1, len(cells)))
    axes.set_axis_off()
    axes.set(xlim=(0, WIDTH), ylim=(measure_table(len(columns)), 0))
    style: dict[str, Any] = {"fontsize": "small", "va": "center"}
    places = {column: LINE * (HEAD + line - 0.4) for line, column in enumerate(columns)}
    for column, y in places.items():
        axes.text(0, y, column, **style)
    title = "accuracy (%), printed" if source == "paper" else "accuracy (%), ours: mean ± standard deviation over seeds"
    axes.text(0, LINE * 0.4, title, **style, fontweight="bold")
    x, before = NAMES, ("", "")
    for cell, values in cells.items():
        *names, density = _shorten(*cell)
        for line, text in enumerate(names, start=1):
            if before != cell[:2]:
                axes.text(x, LINE * (line + 0.4), text, **style)
        axes.text(x, LINE * 3.4, density, color=GREY, **style)
        for column, y in places.items():
            axes.text(x, y, values.get(column, "–"), **style)
        before, x = cell[:2], x + step


def _list_cells(table: Frame) -> dict[tuple[str, str, float], Mapping[str, str]]:
    """The accuracies of each cell by column, as text."""
    found: dict[tuple[str, str, float], dict[str, str]] = {}
    for (*cell, column), values in table.groupby([*CELL, "column"], sort=False)["accuracy"]:
        spread = f" ± {values.std():.1f}" if len(values) > 1 else ""
        text = f"{values.mean():.{1 if spread else 2}f}{spread}"
        found.setdefault((cell[0], cell[1], cell[2]), {})[column] = text
    return dict(sorted(found.items(), key=lambda item: (item[0][0], item[0][1], -item[0][2])))


def _shorten(data: str, net: str, density: float) -> tuple[str, str, str]:
    """The lines above a cell: data, network and density, or what was kept instead of it.

    >>> _shorten("leaves", "ResNet-8, width 4", 0.05)
    ('leaves', 'ResNet-8 ×4', '5%')
    >>> _shorten("leaves", "ResNet-8, width 4, 20% kept", 0.05)
    ('leaves', 'ResNet-8 ×4', '20% for 5%')
    """
    name, _, kept = net.rpartition(", ") if net.endswith(KEPT) else (net, "", "")
    shown = f"{kept.removesuffix(' kept')} for {density:.0%}" if kept else f"{density:.0%}"
    return data, name.replace(", width ", " ×"), shown
