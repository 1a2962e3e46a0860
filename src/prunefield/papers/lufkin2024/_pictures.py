"""Panels that several figures of lufkin2024 have: a field over time, the amplifier φ."""

from collections.abc import Sequence
from typing import Any

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.figure import Figure

from prunefield.papers._kit import BLACK, GREY, SEQUENCE, VERMILION
from prunefield.runs import Record
from prunefield.theory.amplifier import SLOPE

WHY_PEAKS_DIFFER = (
    "batches are noisy and Eq. 5 is not: a simulated field may end at a different site\n"
    "or with a different sign from an integrated one (section4.2)"
)


def draw_path(axes: Axes, records: Sequence[Record], *, marked: bool = False) -> None:
    """The first field over time, from dark to light; if `marked`, the title says where it is largest in the end."""
    last = records[-1]["time"]
    # No more than 40 lines: more cannot be told apart and make the file large.
    for record in records[::-1][:: max(1, len(records) // 40)][::-1]:
        axes.plot(record.tensors["weights"][0], color=colormaps[SEQUENCE](record["time"] / last), linewidth=1)
    axes.axhline(0, color=GREY, linewidth=0.5)
    if marked:
        place = int(records[-1].tensors["weights"][0].abs().argmax())
        axes.set_title(f"largest at i = {place}", fontsize="small")


def draw_time_bar(figure: Figure, axes: Any, last: float, label: str) -> None:
    """What the colours of `draw_path` mean."""
    figure.colorbar(ScalarMappable(Normalize(0, last), SEQUENCE), ax=axes, label=label, aspect=40)


def draw_amplifier(axes: Axes, a: Any, phi: Any, cubic: Any) -> None:
    """φ(a) with its tangent and its cubic."""
    axes.plot(a, SLOPE * a, "--", color=GREY, label="√(2/π) a")
    axes.plot(a, phi, color=BLACK, label="φ")
    axes.plot(a, cubic, ":", color=VERMILION, linewidth=2, label="cubic")


def make_grid(figure: Figure, models: Sequence[str], panels: Sequence[tuple[str, str]]) -> Any:
    """A column for each model, named above, and a row for each kind of panel: what it shows, and its x axis."""
    grid = figure.subplots(len(panels), len(models))
    for row, (what, label) in zip(grid, panels, strict=True):
        row[0].set_ylabel(what)
        for axes in row:
            axes.set_xlabel(label)
    for axes, model in zip(grid[0], models, strict=True):
        axes.set_title(model, fontweight="bold")
    return grid
