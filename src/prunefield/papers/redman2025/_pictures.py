"""How masks, data sets and pruning methods look in the figures of redman2025."""

from typing import TYPE_CHECKING

from prunefield.runs import Result
from prunefield.runs.imp import Imp, Method, read_masks

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from torch import Tensor

COLOURS = {"imp": "#000000", "oneshot": "#0072b2", "random": "#d55e00"}
LABELS = {"imp": "IMP", "oneshot": "one-shot", "random": "random"}


def connected(imp: Imp, result: Result, method: Method, count: int) -> "Tensor":
    """The last masks of the units with the most kept inputs, in descending order: (count, channels, height, width)."""
    fields = read_masks(imp, result.records, method)[-1]["layers.0.weight"].view(-1, *imp.task.shape)
    ranked = fields.flatten(1).sum(1).argsort(descending=True, stable=True)
    return fields[ranked[:count]]


def tile(fields: "Tensor", columns: int) -> "np.ndarray":
    """Fields (n, 3, height, width) in [0, 1] as one picture, row by row, with white lines between them."""
    import numpy as np

    rows = -(-len(fields) // columns)
    height, width = fields.shape[-2] + 1, fields.shape[-1] + 1
    picture = np.ones((rows * height + 1, columns * width + 1, 3), dtype=np.float32)
    for place, field in enumerate(fields):
        top, left = place // columns * height + 1, place % columns * width + 1
        picture[top : top + height - 1, left : left + width - 1] = field.permute(1, 2, 0).numpy()
    return picture


def show(axes: "Axes", fields: "Tensor", columns: int, title: str, colour: str = "black") -> None:
    """Draws fields side by side: black is pruned, a colour is the kept channel."""
    axes.imshow(tile(fields, columns), interpolation="nearest")
    axes.set_title(title, color=colour, fontsize=11)
    axes.set_axis_off()
