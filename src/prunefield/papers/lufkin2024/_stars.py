"""Data sets as stars in the diagram of `lufkin2024/phases`."""

from typing import Any

from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import Normalize
from matplotlib.patheffects import withStroke

from prunefield.papers import Frame
from prunefield.papers._kit import BLACK, SEQUENCE


def mark_images(axes: Axes, images: Frame, scale: Normalize) -> None:
    """A star for each data set, in the colour of its predicted width, with the interval of its kurtosis."""
    for number, row in images.iterrows():
        side = -1 if number % 2 else 1  # of the star, so that names do not meet
        colour = colormaps[SEQUENCE](scale(1 / row["ipr_n"]))
        errors = [[row["excess"] - row["low"]], [row["high"] - row["excess"]]]
        axes.errorbar(row["excess"], row["ratio"], xerr=errors, color="white", capsize=3, zorder=4)
        axes.scatter(row["excess"], row["ratio"], marker="*", s=320, color=[colour], edgecolor="white", zorder=5)
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
