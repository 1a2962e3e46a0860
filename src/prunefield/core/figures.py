"""Figures: one style for all of them, and their files, SVG and PDF with editable text."""

import io
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The same figure gives the same file: no date, and identifiers that do not depend on chance.
STYLE: dict[Any, Any] = {
    "text.parse_math": False,  # names of layers are not formulas
    "svg.fonttype": "none",
    "svg.hashsalt": "prunefield",
    "pdf.fonttype": 42,
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
}


def make_figure(draw: "Callable[[Figure], None]", size: tuple[float, float]) -> "Figure":
    """A figure of a size in inches, with what `draw` puts into it; notebooks show it, with pyplot or without."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
    setattr(figure, "_repr_png_", partial(encode, figure, "png"))  # noqa: B010 - an attribute that Figure does not declare
    return figure


def encode(figure: "Figure", suffix: str) -> bytes:
    """A figure as the bytes of an `svg`, `pdf` or `png` file."""
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.backends.backend_pdf import FigureCanvasPdf
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    buffer = io.BytesIO()
    figure.set_dpi(150)
    with matplotlib.rc_context(STYLE):  # `savefig` would draw everything once more before it prints
        if suffix == "svg":
            FigureCanvasSVG(figure).print_svg(buffer, metadata={"Date": None})
        elif suffix == "pdf":
            FigureCanvasPdf(figure).print_pdf(buffer, metadata={"CreationDate": None})
        else:
            FigureCanvasAgg(figure).print_png(buffer)
    return buffer.getvalue()
