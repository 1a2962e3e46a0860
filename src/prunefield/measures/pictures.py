"""Pictures of receptive fields: masks or weights of many units in one image."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.axes import Axes
    from torch import Tensor

LEVELS = 33  # an odd number, so that grey is among them


def tile(fields: "Tensor", columns: int) -> "np.ndarray":
    """Fields (n, 3, height, width) in [0, 1] as one picture, row by row, with white lines between them.

    Shades are rounded to LEVELS of each colour, which nobody sees and which halves the files of pictures of dense
    fields.
    """
    import numpy as np

    rows = -(-len(fields) // columns)
    height, width = fields.shape[-2] + 1, fields.shape[-1] + 1
    picture = np.ones((rows * height + 1, columns * width + 1, 3), dtype=np.float32)
    for place, field in enumerate(fields):
        top, left = place // columns * height + 1, place % columns * width + 1
        picture[top : top + height - 1, left : left + width - 1] = field.permute(1, 2, 0).numpy()
    return np.round(picture * (LEVELS - 1)) / (LEVELS - 1)


def show_fields(axes: "Axes", fields: "Tensor", columns: int, title: str, colour: str = "black") -> None:
    """Draws fields side by side: black is pruned, a colour is the kept channel."""
    axes.imshow(tile(fields, columns), interpolation="nearest")
    axes.set_title(title, color=colour)
    axes.set_axis_off()
