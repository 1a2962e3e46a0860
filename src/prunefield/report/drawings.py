"""Figures and tables of items as files: SVG, PDF and CSV."""

from pathlib import Path
from typing import TYPE_CHECKING

from prunefield.core.figures import STYLE, encode
from prunefield.core.files import make_folder, write_whole
from prunefield.report.ledger import Finding

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw(finding: Finding) -> "Figure":
    """The item's drawing, in the style of all drawings."""
    import matplotlib

    with matplotlib.rc_context(STYLE):
        figure = finding.draw()
        if engine := figure.get_layout_engine():  # once: otherwise each file would be laid out again
            engine.execute(figure)
            figure.set_layout_engine("none")
            for axes in figure.axes:  # the solver's last bits vary from time to time
                left, bottom, width, height = axes.get_position(original=True).bounds
                axes.set_position((round(left, 6), round(bottom, 6), round(width, 6), round(height, 6)))
        return figure


def csv(finding: Finding) -> str:
    """The table behind the drawing."""
    return finding.table.to_csv(index=False)


def write(finding: Finding, root: Path) -> list[Path]:
    """Writes `root/paper/item-scale.csv`, `.svg` and `.pdf`."""
    path = root / f"{finding.name}-{finding.scale}"
    make_folder(path.parent, chosen_by="--store")
    figure = draw(finding)
    files = {".csv": csv(finding).encode()} | {f".{suffix}": encode(figure, suffix) for suffix in ("svg", "pdf")}
    written = [path.with_name(path.name + suffix) for suffix in files]
    for file, data in zip(written, files.values(), strict=True):
        write_whole(file, data, chosen_by="--store")
    return written
