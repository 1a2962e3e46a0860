"""Draws the pictures of items that the docs show.

    python docs/pictures.py [STORE …]    draws those that the stores, or kept values, can show
    python docs/pictures.py --check      names those that no longer show the published results

These are the small ones of the gallery and those of the pages. An item is drawn at the scale of its picture, for the
gallery at its published scale if that can be had, else at laptop or smoke scale: from the store that has most of its
runs, alone or with kept values, or from kept values if its drawing needs no more. A picture is not replaced by one of
other results than the published ones, nor by one of the same results that lacks panels. Pictures that nothing here can
draw are left as they are.

`pictures/made.json` says which picture shows what: its item, scale, and the digest of its results, which is empty for
pictures that were drawn before digests were written down. To show an item on a page, add such a line.
"""

import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path

from matplotlib.text import Text
from PIL import Image

from prunefield.core.figures import encode_figure
from prunefield.lab.store import Store
from prunefield.papers._kit import NOT_SHIPPED
from prunefield.report.ledger import Finding, check_scale, find_items, read_finding
from prunefield.report.publishing import find_published, read_with_kept

FOLDER = Path(__file__).parent / "pictures"
MADE = FOLDER / "made.json"
SMALL, LARGE = 900, 1500  # pixels: widths of the pictures of the gallery, and of PNG pictures of pages
COLOURS = 48


def main() -> None:
    made = json.loads(MADE.read_text())
    if sys.argv[1:] == ["--check"]:
        stale = ", ".join(list_stale(made))
        sys.exit(f"other results are published by now: {stale}; run: python docs/pictures.py STORE" if stale else 0)
    stores = [Store(name, create=False) for name in sys.argv[1:]]
    if absent := [name for name in sys.argv[1:] if not (Path(name) / "store.json").is_file()]:
        sys.exit(f"no store: {', '.join(absent)}")
    for name, entry in list(made.items()):
        if not name.startswith("gallery/"):
            finding = choose_finding(stores, entry["item"], entry["scale"], also_parts=True)
            shown = finding is not None and finding.digest == entry["digest"]
            if finding and is_published(finding) and (is_whole(finding) or not shown):
                write_picture(FOLDER / name, finding)
                made[name] = describe(finding)
    for item in find_items():
        published = find_published(item)
        stem = f"gallery/{item.kind().replace('/', '-')}"
        for scale in dict.fromkeys((published.scale if published else "laptop", "laptop", "smoke")):
            name = f"{stem}-{item.own_scale(scale)}.png"
            finding = choose_finding(stores, item.kind(), scale)
            if finding and is_published(finding):
                for old in FOLDER.glob(f"{stem}-*.png"):
                    old.unlink()
                    made.pop(f"gallery/{old.name}", None)
                write_picture(FOLDER / name, finding, SMALL)
                made[name] = describe(finding)
                break
            if published and made.get(name, {}).get("digest") == published.digest:
                break  # it shows what is published, which no store here has
    MADE.write_text(json.dumps(dict(sorted(made.items())), indent=1) + "\n")


def choose_finding(stores: list[Store], name: str, scale: str, *, also_parts: bool = False) -> Finding | None:
    """What shows most of an item at a scale: its runs in a store, alone or with kept values.

    With `also_parts`, a drawing that lacks the panels whose tensors were not kept is better than none.
    """
    (item,), wanted = find_items([name]), check_scale(scale)
    empty = Store(FOLDER / "no store", create=False)
    found = [read_finding(store, item, wanted) for store in stores]
    found += [read_with_kept(store, item, wanted) for store in (*stores, empty)]
    complete = [finding for finding in found if finding and finding.results]
    complete.sort(key=lambda finding: (len(finding.results), -finding.kept), reverse=True)
    return next(filter(is_whole, complete), complete[0] if complete and also_parts else None)


def is_whole(finding: Finding) -> bool:
    """Whether no panel of the drawing lacks tensors, which are not among the kept values."""
    return finding.kept == 0 or not any(NOT_SHIPPED in text.get_text() for text in finding.draw().findobj(Text))


def is_published(finding: Finding) -> bool:
    """Whether a finding is what was published; an item that was not published at its scale may be shown."""
    published = find_published(finding.item, finding.scale)
    if published is None or published.digest == finding.digest:
        return True
    print(f"{finding.name}, {finding.scale}: not drawn, as its results are not the published ones")
    return False


def describe(finding: Finding) -> dict[str, str]:
    """What a picture shows."""
    return {"item": finding.name, "scale": finding.item.own_scale(finding.scale), "digest": finding.digest}


def list_stale(made: dict[str, dict[str, str]]) -> Iterator[str]:
    """The pictures whose results are known and no longer the published ones."""
    for name, entry in made.items():
        (item,) = find_items([entry["item"]])
        published = find_published(item, check_scale(entry["scale"]))
        if entry["digest"] and published and published.digest != entry["digest"]:
            yield name


def write_picture(path: Path, finding: Finding, width: int = LARGE) -> None:
    """Draws an item as SVG or as a PNG with few colours."""
    figure = finding.draw()
    if path.suffix == ".svg":
        path.write_bytes(encode_figure(figure, "svg"))
    else:
        buffer = io.BytesIO()
        figure.savefig(buffer, format="png", dpi=width / figure.get_size_inches()[0])
        # Not the median cut: where most pixels are white, it mixes the few coloured ones into other hues.
        look = {"method": Image.Quantize.MAXCOVERAGE, "kmeans": 1, "dither": Image.Dither.NONE}
        Image.open(buffer).convert("RGB").quantize(COLOURS, **look).save(path, optimize=True)
    print(f"{path.relative_to(FOLDER)}: {path.stat().st_size // 1024} KB")


if __name__ == "__main__":
    main()
