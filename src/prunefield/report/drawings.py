"""Figures and tables of items as files: SVG, PDF and CSV."""

from pathlib import Path

from prunefield.core.figures import encode_figure
from prunefield.core.files import make_folder, write_whole
from prunefield.report.ledger import Finding


def format_csv(finding: Finding) -> str:
    """The table behind the drawing."""
    return finding.table.to_csv(index=False)


def write_item_files(finding: Finding, root: Path) -> list[Path]:
    """Writes `root/paper/item-scale.csv`, `.svg` and `.pdf`."""
    path = root / f"{finding.name}-{finding.scale}"
    make_folder(path.parent, chosen_by="--store")
    figure = finding.draw()
    files = {".csv": format_csv(finding).encode()} | {
        f".{suffix}": encode_figure(figure, suffix) for suffix in ("svg", "pdf")
    }
    written = [path.with_name(path.name + suffix) for suffix in files]
    for file, data in zip(written, files.values(), strict=True):
        write_whole(file, data, chosen_by="--store")
    return written
