"""Figures: one style for all of them, and their files, SVG and PDF with editable text."""

import io
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from string import ascii_uppercase
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's palette: the colour-blind can tell them apart, and none is as light as paper.
BLACK, BLUE, VERMILION, GREEN, PURPLE, SKY, ORANGE, GREY = (
    "#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#777777",
)  # fmt: skip
PALETTE = (BLUE, VERMILION, GREEN, PURPLE, SKY, ORANGE, BLACK)  # for lines that are only counted
SEQUENCE = "viridis"  # for times, rounds and other ordered values

# The same figure gives the same file: no date, and identifiers that do not depend on chance.
STYLE: dict[Any, Any] = {
    "text.parse_math": False,  # names of layers are not formulas
    "svg.fonttype": "none",
    "svg.hashsalt": "prunefield",
    "pdf.fonttype": 42,
    "axes.prop_cycle": f"cycler(color={list(PALETTE)})",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": "medium",
    "axes.titlelocation": "left",
    "axes.titley": 1.0,  # not looked for: no ticks are above a panel
    "figure.titlesize": "medium",
    "figure.constrained_layout.w_pad": 0.12,
    "figure.constrained_layout.h_pad": 0.06,
    "legend.frameon": False,
    "legend.fontsize": "small",
    "legend.title_fontsize": "small",
    "xtick.labelsize": "small",
    "ytick.labelsize": "small",
    "image.cmap": SEQUENCE,
    "boxplot.medianprops.color": VERMILION,
    "boxplot.medianprops.linewidth": 1.5,
    "boxplot.flierprops.markersize": 3,
}
TYPESETTING = {"GDEF", "GPOS", "GSUB", "kern"}  # tables of a font
# Text grows with the width, so that it can be read where a figure is shown at half a page.
SHOWN, READABLE = 640, 9.0  # pixels: that width, and the size of small text at it
SMALL = 5 / 6  # of the usual size, as matplotlib has it
SMALLEST = 8.0  # points of the usual text
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def make_figure(draw: "Callable[[Figure], None]", size: tuple[float, float], footer: str = "") -> "Figure":
    """A figure of a size in inches, with what `draw` puts into it; notebooks show it, with pyplot or without.

    `footer` is a line below everything, which says what the figure shows wherever it is copied to.
    """
    import matplotlib
    from cycler import cycler
    from matplotlib.figure import Figure

    points = max(SMALLEST, find_small_size(size[0]) / SMALL)
    with matplotlib.rc_context({**STYLE, "font.size": points, "axes.prop_cycle": cycler(color=PALETTE)}):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        _write_out_powers(figure)
        if footer:
            _add_footer(figure, footer)
    setattr(figure, "_repr_png_", partial(encode_figure, figure, "png"))  # noqa: B010 - an attribute that Figure does not declare
    return figure


def find_small_size(width: float) -> float:
    """Points of the small text of a figure that is `width` inches wide: ticks, legends, footer and caption.

    >>> round(find_small_size(10.0), 3)
    10.125
    """
    return READABLE * 72 * width / SHOWN


def _add_footer(figure: "Figure", text: str) -> None:
    """A line of small text in a strip that is added below the figure."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    width, height = figure.get_size_inches()
    points = find_small_size(width)
    strip = 2 * points / 72
    figure.set_size_inches(width, height + strip)
    share = strip / (height + strip)
    if isinstance(engine := figure.get_layout_engine(), ConstrainedLayoutEngine):
        engine.set(rect=(0, share, 1, 1 - share))
    figure.text(0.004, 0.3 * share, text, color=GREY, fontsize=points, va="bottom")


def pick_shade(place: int, count: int) -> Any:
    """The colour of one of `count` ordered values, from dark to light; none is as light as paper."""
    from matplotlib import colormaps

    return colormaps[SEQUENCE](0.9 * place / max(1, count - 1))


def letter_panels(panels: Sequence["Axes"]) -> None:
    """A, B, C … Z, AA, AB … before the title of each panel, in order: none occurs twice."""
    letters = [first + second for first in ("", *ascii_uppercase) for second in ascii_uppercase]
    for axes, letter in zip(panels, letters, strict=False):
        axes.set_title(f"{letter}  {axes.get_title(loc='left')}".rstrip(), fontweight="bold")


def add_legend(
    figure: Any, panels: Iterable["Axes"], ncols: int, where: str = "outside upper center", title: str = ""
) -> None:
    """One legend outside the panels for all that is in them; a label of several panels is shown once.

    `title` is a remark above it: the layout would put a title of the figure over the legend.
    """
    figure.legend(*_list_entries(panels), loc=where, ncols=ncols, title=title)


def fill_with_legend(empty: "Axes", panels: Iterable["Axes"], title: str = "", ncols: int = 1) -> None:
    """The legend of some panels in place of a further one, where it covers nothing."""
    empty.set_axis_off()
    look = {"alignment": "left", "labelspacing": 0.3, "handlelength": 1.5, "borderaxespad": 0}
    legend = empty.legend(*_list_entries(panels), loc="center left", title=title, ncols=ncols, **look)
    legend.set_in_layout(False)  # the other panels set the size of this one


def _list_entries(panels: Iterable["Axes"]) -> tuple[list[Any], list[str]]:
    found: dict[str, Any] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            found.setdefault(label, handle)
    return list(found.values()), list(found)


def title_part(part: Any, title: str) -> None:
    """The title of a part of a figure, which stands out from those of its panels."""
    part.suptitle(title, x=0.01, ha="left", fontsize="large", fontweight="bold")


def draw_boxes(axes: "Axes", groups: Sequence[Any], names: Sequence[str]) -> None:
    """A box for each group of values, the whiskers from their 5th to their 95th percentile; the axes say so."""
    axes.boxplot(groups, whis=(5, 95), showfliers=False, tick_labels=list(names))
    axes.set_title("box: quartiles and median; whiskers: 5 to 95%", loc="right", fontsize="small", color=GREY)


def _write_out_powers(figure: "Figure") -> None:
    """Powers of ten on logarithmic axes as characters: their usual labels are formulas, which STYLE turns off.

    Where an axis spans more than a decade, only 2 and 5 are labelled between the powers: others would overlap.
    """
    from math import log10

    from matplotlib.ticker import FuncFormatter, LogFormatter

    for axes in figure.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(map(abs, axis.get_view_interval()))
            is_wide = low > 0 and log10(high / low) > 1
            for get, put in (
                (axis.get_major_formatter, axis.set_major_formatter),
                (axis.get_minor_formatter, axis.set_minor_formatter),
            ):
                if isinstance(usual := get(), LogFormatter):
                    shown = FuncFormatter(partial(_show_power, usual, is_wide=is_wide))
                    shown.set_locs = usual.set_locs  # it decides from all ticks which of them have room for a label
                    put(shown)


def _show_power(usual: Any, value: float, place: int | None = None, *, is_wide: bool = False) -> str:
    """The label of a tick, if `usual` gives it one; on a wide axis only if it begins with 1, 2 or 5.

    >>> _show_power(lambda value, place: "$10^{-4}$", 1e-4), _show_power(lambda value, place: "", 2e-3)
    ('10⁻⁴', '')
    """
    digits, _, power = f"{value:e}".partition("e")
    if not usual(value, place) or (is_wide and digits.strip("-")[0] not in "125"):
        return ""
    if not value or 0.001 <= abs(value) < 10_000:
        return f"{value:g}".replace("-", "−")
    factor = "" if float(digits) in (1.0, -1.0) else f"{abs(float(digits)):g}·"
    return f"{'−' if value < 0 else ''}{factor}10{str(int(power)).translate(SUPERSCRIPTS)}"


def fix_layout(figure: "Figure") -> None:
    """Lays a figure out once, instead of once for each file, and rounds: the solver's last bits vary."""
    import matplotlib

    if engine := figure.get_layout_engine():
        with matplotlib.rc_context(STYLE):
            engine.execute(figure)
        figure.set_layout_engine("none")
        _round_parts(figure)
        for axes in figure.axes:
            left, bottom, width, height = axes.get_position(original=True).bounds
            axes.set_position((round(left, 6), round(bottom, 6), round(width, 6), round(height, 6)))


def _round_parts(figure: Any) -> None:
    """Rounds the places of the parts of a figure, and of theirs: the name of a clipped area has all their digits."""
    for part in figure.subfigs:
        place = part.bbox_relative
        place.p0, place.p1 = place.p0.round(6), place.p1.round(6)
        _round_parts(part)


@contextmanager
def embed_plain_fonts() -> Iterator[None]:
    """PDF files get the letters of their fonts without the tables for typesetting, which nothing reads there.

    Matplotlib places every letter itself; reading those tables takes it half of the time that a file takes.
    """
    from unittest.mock import patch

    from fontTools import subset

    def load_plain(*args: Any, **options: Any) -> Any:
        font = load(*args, **options)
        for tag in TYPESETTING & set(font.keys()):
            del font[tag]
        return font

    load = subset.load_font
    with patch.object(subset, "load_font", load_plain):
        yield


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
            with embed_plain_fonts():
                FigureCanvasPdf(figure).print_pdf(buffer, metadata={"CreationDate": None})
        else:
            FigureCanvasAgg(figure).print_png(buffer)
    return buffer.getvalue()
