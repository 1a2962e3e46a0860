"""Draws the small pictures of the gallery from stores: python docs/thumbnails.py STORE …

Every item is drawn at its published scale if a store has it, alone or with kept values, else at laptop or smoke scale,
from the store that has most of its runs. The scale is in the name of the file. Pictures of items that no store has are
left as they are.
"""

import io
import sys
from pathlib import Path

from PIL import Image

from prunefield.lab.store import Store
from prunefield.report.ledger import Finding, find_items, read_finding
from prunefield.report.publishing import find_published, read_with_kept

FOLDER = Path(__file__).parent / "pictures" / "gallery"
WIDTH = 900  # pixels
COLOURS = 48


def main() -> None:
    stores = [Store(name) for name in sys.argv[1:]]
    FOLDER.mkdir(parents=True, exist_ok=True)
    for item in find_items():
        published = find_published(item)
        for scale in (published.scale if published else "laptop", "laptop", "smoke"):
            findings = [found for store in stores if (found := read_finding(store, item, scale))]
            findings += [
                found for store in stores if (found := read_with_kept(store, item, scale)) and has_some(store, found)
            ]
            if findings:
                write_thumbnail(max(findings, key=lambda finding: len(finding.results)))
                break


def has_some(store: Store, finding: Finding) -> bool:
    """Whether a store has runs of a finding: kept values alone lack the tensors that drawings show."""
    return any(store.folder(run).is_done for run in finding.results)


def write_thumbnail(finding: Finding) -> None:
    """Replaces the picture of an item; its name says at which scale the runs were made."""
    stem = finding.name.replace("/", "-")
    buffer = io.BytesIO()
    finding.draw().savefig(buffer, format="png", dpi=WIDTH / finding.item.size[0])
    # Not the median cut: where most pixels are white, it mixes the few coloured ones into other hues.
    look = {"method": Image.Quantize.MAXCOVERAGE, "kmeans": 1, "dither": Image.Dither.NONE}
    image = Image.open(buffer).convert("RGB").quantize(COLOURS, **look)
    for old in FOLDER.glob(f"{stem}-*.png"):
        old.unlink()
    path = FOLDER / f"{stem}-{finding.item.own_scale(finding.scale)}.png"
    image.save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size // 1024} KB")


if __name__ == "__main__":
    main()
