"""Figures and tables of items as bytes: SVG, PDF and CSV. A figure says in its own file what it is."""

import io
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import prunefield
from prunefield.report.ledger import Finding

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LINE = 1.44  # distance of two lines of the caption over the size of its letters
LETTER = 0.58  # mean width of a letter over its size
DATES = {"svg": "Date", "pdf": "CreationDate"}  # left out, so that the same figure gives the same file


def format_csv(finding: Finding) -> str:
    """The table behind the drawing."""
    return finding.table.to_csv(index=False)


def encode_captioned(figure: "Figure", finding: Finding) -> dict[str, bytes]:
    """A figure with a strip for its caption below it: an SVG in a talk must not be anonymous."""
    import matplotlib
    from matplotlib.transforms import Bbox

    from prunefield.core.figures import STYLE, embed_plain_fonts, find_small_size

    figure.set_layout_engine(None)  # it is laid out; with an engine `savefig` would draw everything twice
    width, height = figure.get_size_inches()
    points = find_small_size(width)
    lines = wrap(write_caption(finding), max(40, int(width * 72 / (LETTER * points))))
    line = LINE * points / 72
    strip = line * (len(lines) + 1)
    about: dict[str, Any] = {"Title": f"{finding.name}: {finding.item.title}", "Creator": "prunefield"}
    fields = {"svg": "Description", "pdf": "Subject"}
    files: dict[str, bytes] = {}
    with matplotlib.rc_context(STYLE), embed_plain_fonts():
        for place, words in enumerate(lines):
            at = -line * (place + 1) / height
            figure.text(0.02, at, words, fontsize=points, color="#555555", verticalalignment="baseline")
        for suffix, date in DATES.items():
            buffer = io.BytesIO()
            metadata = {**about, fields[suffix]: write_caption(finding), date: None}
            shown = Bbox([[0, -strip], [width, height]])
            figure.savefig(buffer, format=suffix, dpi=150, bbox_inches=shown, metadata=metadata)
            files[suffix] = buffer.getvalue()
    return files


def write_caption(finding: Finding) -> str:
    """What the figure is, in one paragraph: item, scale, seeds, number of values, version and digest."""
    title = finding.item.title if finding.item.title.endswith("?") else f"{finding.item.title}."
    return (
        f"{finding.name}. {title} {finding.scale} scale; {finding.count_parts()}. prunefield {prunefield.__version__}, "
        f"digest {finding.digest[:12]}."
    )


def describe_drawing(figure: "Figure", finding: Finding) -> str:
    """A text that stands for the figure: its panels with their axes and lines."""
    panels = [text for axes in figure.axes if (text := _describe_panel(axes))]
    shown = "; ".join(panels[:8]) + (f"; and {len(panels) - 8} more" if len(panels) > 8 else "")
    return f"{finding.item.title}, {finding.scale} scale" + (f". Panels: {shown}" if shown else "")


def _describe_panel(axes: Any) -> str:
    title = next((text for place in ("center", "left", "right") if (text := axes.get_title(loc=place))), "")
    across, up = axes.get_xlabel(), axes.get_ylabel()
    over = f"{up} against {across}" if up and across else up or across
    _, labels = axes.get_legend_handles_labels()
    lines = f" ({', '.join(labels[:6])})" if labels else ""
    text = ": ".join(filter(None, (" ".join(title.split()), over)))
    return " ".join((text + lines).split()) if text else ""
