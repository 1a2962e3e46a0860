"""The drawing of `lufkin2024/phases`: the diagram, and fields along one of its rows."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LogNorm, Normalize
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from prunefield.papers import Frame, rows
from prunefield.papers._kit import BLACK, GREY, SEQUENCE
from prunefield.runs import Result, Run
from prunefield.runs.phases import Phases

ROW = 3.0  # the ratio whose fields are shown
SHOWN = (("nlgp", -1.9), ("nlgp", -1.0), ("nlgp", -0.4), ("kur", 0.4), ("kur", 2.5))
NAMES = {"nlgp": "NLGP", "kur": "Kur"}
MARKS = {"nlgp": "o", "kur": "^"}
SCALE = LogNorm(0.02, 1)  # of the width as a share of the sites, for the colours
MIDDLE = colormaps[SEQUENCE](0.5)  # of a marker in the legend
OUTLINE: dict[str, Any] = {  # of a marker, white on the map and black on paper
    "edgecolor": "white",
    "linewidth": 1.5,
    "path_effects": [withStroke(linewidth=3, foreground=BLACK)],
}


def draw_diagram(
    figure: Figure, table: Frame, results: Mapping[Run, Result], boundaries: Mapping[str, Frame], level: float
) -> None:
    """The map with the boundaries of either kind of law, simulated neurons and data sets on it; fields below it."""
    parts: Any = figure.subfigures(2, 1, height_ratios=(3.3, 1))
    top, below = parts
    axes = top.subplots()
    _paint_map(axes, table)
    for (laws, edge), line in zip(boundaries.items(), ("-", "--"), strict=True):
        label = f"IPR × N = {level:g}, {NAMES[laws]}"
        axes.plot(edge["excess"], edge["ratio"], line, color="white", linewidth=4)
        axes.plot(edge["excess"], edge["ratio"], line, color=BLACK, linewidth=2, label=label)
    for laws, mark in MARKS.items():
        points = rows(table, source="simulated", laws=laws)
        look: dict[str, Any] = {"marker": mark, "s": 90, "zorder": 3, **OUTLINE}
        axes.scatter(points["excess"], points["ratio"], c=1 / points["ipr_n"], cmap=SEQUENCE, norm=SCALE, **look)
        axes.scatter([], [], **look, color=MIDDLE, label=f"simulated neurons, {NAMES[laws]}")
    _mark_images(axes, rows(table, source="images"), SCALE)
    axes.axvline(0, color="white", linewidth=1, linestyle=":")
    axes.set(yscale="log", xlabel="excess kurtosis of a pixel (below 0: NLGP, above: Kur)", ylabel="ratio ξ₁/ξ₀")
    axes.set_ylim(0.97, table["ratio"].max() * 1.03)
    axes.set_yticks((1, 1.25, 1.5, 2, 3, 5, 8), ("1", "1.25", "1.5", "2", "3", "5", "8"))
    axes.minorticks_off()
    axes.scatter([], [], marker="*", s=320, **OUTLINE, color=MIDDLE, label="data set (the answer of predict)")
    # The simulated width is in the colour of the marker, and the width by Eq. 5 is around it.
    title = "colour of a marker: the simulated width, of a data set the predicted one; bar: interval of the kurtosis"
    figure.legend(*axes.get_legend_handles_labels(), loc="outside upper center", ncols=3, title=title)
    bar = top.colorbar(
        ScalarMappable(SCALE, SEQUENCE), ax=axes, label="width of the field, 1/IPR, as a share of all sites"
    )
    bar.ax.set_yticks((0.02, 0.05, 0.1, 0.2, 0.5, 1), ("2%", "5%", "10%", "20%", "50%", "100%"))
    bar.ax.minorticks_off()
    _draw_fields(below, results)


def _paint_map(axes: Axes, table: Frame) -> None:
    """The width by Eq. 5: NLGP below 0, Kur from there on; cells reach half way to their neighbours."""
    flow = rows(table, source="Eq. 5")
    flow = flow[(flow["excess"] < 0) == (flow["laws"] == "nlgp")]
    grid = flow.pivot_table(index="ratio", columns="excess", values="ipr_n")
    axes.pcolormesh(
        _find_edges(grid.columns.to_numpy(dtype=float)),
        np.exp(_find_edges(np.log(grid.index.to_numpy(dtype=float)))),
        1 / grid.to_numpy(),
        cmap=SEQUENCE,
        norm=SCALE,
        rasterized=True,
    )


def _find_edges(centres: np.ndarray) -> np.ndarray:
    middle = (centres[1:] + centres[:-1]) / 2
    return np.concatenate([centres[:1], middle, centres[-1:]])


def _mark_images(axes: Axes, images: Frame, scale: Normalize) -> None:
    """A star for each data set, in the colour of its predicted width, with the interval of its kurtosis."""
    for number, row in images.iterrows():
        side = -1 if number % 2 and row["excess"] > -0.5 else 1  # of the star, so that names do not meet
        colour = colormaps[SEQUENCE](scale(1 / row["ipr_n"]))
        errors = [[row["excess"] - row["low"]], [row["high"] - row["excess"]]]
        for line, width in ((BLACK, 3.5), ("white", 1.5)):
            axes.errorbar(row["excess"], row["ratio"], xerr=errors, color=line, linewidth=width, zorder=4)
        axes.scatter(row["excess"], row["ratio"], marker="*", s=320, color=[colour], zorder=5, **OUTLINE)
        text = f"{row['name']} ({row['answer']})"
        place = {"xytext": (10 * side, -4), "textcoords": "offset points", "ha": "left" if side > 0 else "right"}
        look: dict[str, Any] = {"fontweight": "bold", "fontsize": "small", "color": "white", "zorder": 6}
        axes.annotate(
            text,
            (row["excess"], row["ratio"]),
            **place,
            **look,
            path_effects=[withStroke(linewidth=3, foreground=BLACK)],
        )


def _draw_fields(figure: Any, results: Mapping[Run, Result]) -> None:
    """Fields along one row of the map, each to its own height, in the colour of the map."""
    runs = {run.laws: run for run in results if isinstance(run, Phases)}
    for axes, (laws, excess) in zip(figure.subplots(1, len(SHOWN)), SHOWN, strict=True):
        record = min(
            results[runs[laws]].records,
            key=lambda one: abs(one["excess"] - excess) + 5 * abs(np.log(one["ratio"] / ROW)),
        )
        field = scale_field(record.tensors["weights"])
        axes.plot(field, color=colormaps[SEQUENCE](SCALE(1 / record["ipr_n"])), linewidth=2)
        axes.axhline(0, color=GREY, linewidth=0.5)
        axes.set_title(f"{NAMES[laws]}, {record['excess']:+.1f}")
        axes.set(xticks=[], yticks=[], ylim=(-1.1, 1.1), xlabel="site")
    figure.suptitle(f"fields by Eq. 5 at the ratio {ROW:g}", fontsize="medium", x=0.01, ha="left")


def scale_field(weights: Any) -> np.ndarray:
    """A field to its own height, its largest value up and in the middle."""
    field = weights.numpy()
    place = int(np.abs(field).argmax())
    return np.roll(field / field[place], len(field) // 2 - place)
