"""Figures: one style for all of them, and their files, SVG and PDF with editable text."""

import io
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Okabe and Ito's palette: the colour-blind can tell them apart, and none is as light as paper.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000000")
# The same figure gives the same file: no date, and identifiers that do not depend on chance.
STYLE: dict[Any, Any] = {
    "text.parse_math": False,  # names of layers are not formulas
    "svg.fonttype": "none",
    "svg.hashsalt": "prunefield",
    "pdf.fonttype": 42,
    "font.size": 8,
    "axes.prop_cycle": f"cycler(color={list(PALETTE)})",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
}
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def make_figure(draw: "Callable[[Figure], None]", size: tuple[float, float]) -> "Figure":
    """A figure of a size in inches, with what `draw` puts into it; notebooks show it, with pyplot or without."""
    import matplotlib
    from matplotlib.figure import Figure

    with matplotlib.rc_context(STYLE):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        _write_out_powers(figure)
    setattr(figure, "_repr_png_", partial(encode_figure, figure, "png"))  # noqa: B010 - an attribute that Figure does not declare
    return figure


def _write_out_powers(figure: "Figure") -> None:
    """Powers of ten on logarithmic axes as characters: their usual labels are formulas, which STYLE turns off."""
    from matplotlib.ticker import FuncFormatter, LogFormatter

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            for get, put in (
                (axis.get_major_formatter, axis.set_major_formatter),
                (axis.get_minor_formatter, axis.set_minor_formatter),
            ):
                if isinstance(usual := get(), LogFormatter):
                    shown = FuncFormatter(partial(_show_power, usual))
                    shown.set_locs = usual.set_locs  # it decides from all ticks which of them have room for a label
                    put(shown)


def _show_power(usual: Any, value: float, place: int | None = None) -> str:
    """The label of a tick, if `usual` gives it one.

    >>> _show_power(lambda value, place: "$10^{-3}$", 1e-3), _show_power(lambda value, place: "", 2e-3)
    ('10⁻³', '')
    """
    if not usual(value, place):
        return ""
    if not value or 0.01 <= abs(value) < 10_000:
        return f"{value:g}".replace("-", "−")
    digits, _, power = f"{value:e}".partition("e")
    factor = "" if float(digits) in (1.0, -1.0) else f"{abs(float(digits)):g}·"
    return f"{'−' if value < 0 else ''}{factor}10{str(int(power)).translate(SUPERSCRIPTS)}"


def fix_layout(figure: "Figure") -> None:
    """Lays a figure out once, instead of once for each file, and rounds: the solver's last bits vary."""
    import matplotlib

    if engine := figure.get_layout_engine():
        with matplotlib.rc_context(STYLE):
            engine.execute(figure)
        figure.set_layout_engine("none")
        for axes in figure.axes:
            left, bottom, width, height = axes.get_position(original=True).bounds
            axes.set_position((round(left, 6), round(bottom, 6), round(width, 6), round(height, 6)))


def encode_figure(figure: "Figure", suffix: str) -> bytes:
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
