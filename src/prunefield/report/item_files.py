"""The files of an item in a store: table, figure, and what they were made from, so that nothing is drawn twice.

    items/PAPER/ITEM-SCALE.csv, .svg, .pdf   the table and the figure
    items/PAPER/ITEM-SCALE.drawn.json        their checksums, what was found, and the stamp

The stamp is a hash of the results, of prunefield's own source files and of the versions of what draws: as long as it is
the same, the files are read instead of made again.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import version
from inspect import getfile
from pathlib import Path
from typing import Any, NamedTuple

import prunefield
from prunefield.core.errors import Error
from prunefield.core.files import checksum, make_folder, write_whole
from prunefield.lab.json_files import encode_table, read_table
from prunefield.lab.store import Store
from prunefield.report.drawings import describe_drawing, encode_captioned, format_csv, write_caption
from prunefield.report.ledger import Finding

SUFFIXES, MARK = ("csv", "svg", "pdf"), "drawn.json"
ABOUT = ("alt", "caption", "size")


class ItemFiles(NamedTuple):
    """The content of the files by suffix, and what was found: the claims, and the number of rows of the table.

    `about` has caption, alternative text and size of the figure in points.
    """

    contents: Mapping[str, bytes]
    about: Mapping[str, Any]
    claims: Sequence[Mapping[str, Any]]
    rows: int


def make_item_files(finding: Finding) -> ItemFiles:
    """Draws the figure of an item."""
    figure = finding.draw(with_footer=False)  # the caption says the same and more
    size = [round(72 * inches) for inches in figure.get_size_inches()]
    about = {"alt": describe_drawing(figure, finding), "caption": write_caption(finding), "size": size}
    contents = {"csv": format_csv(finding).encode(), **encode_captioned(figure, finding)}
    return ItemFiles(contents, about, [row.as_json() for row in finding.rows], len(finding.table))


def write_item_files(finding: Finding, store: Store) -> list[Path]:
    """Writes the files of an item into the store, unless they are there; returns those that are for people."""
    places = _locate_files(finding, store)
    if read_item_files(finding, store) is None:
        files = make_item_files(finding)
        make_folder(places[MARK].parent, chosen_by="--store")
        for suffix, data in files.contents.items():
            write_whole(places[suffix], data, chosen_by="--store")
        sums = {suffix: checksum(data) for suffix, data in files.contents.items()}
        found = {"claims": files.claims, "rows": files.rows}
        mark = {"stamp": stamp_finding(finding), **files.about, "files": sums, **found}
        write_whole(places[MARK], encode_table(mark), chosen_by="--store")
    return [places[suffix] for suffix in SUFFIXES]


def read_item_files(finding: Finding, store: Store) -> ItemFiles | None:
    """The files of an item; None if they are missing, damaged, or were made from other results or by other code."""
    places = _locate_files(finding, store)
    try:
        mark = read_table(places[MARK], default={})
        if mark.get("stamp") != stamp_finding(finding):
            return None
        contents = {suffix: places[suffix].read_bytes() for suffix in SUFFIXES}
        if mark["files"] != {suffix: checksum(data) for suffix, data in contents.items()}:
            return None
        return ItemFiles(contents, {key: mark[key] for key in ABOUT}, mark["claims"], mark["rows"])
    except (OSError, Error, KeyError):
        return None


def _locate_files(finding: Finding, store: Store) -> dict[str, Path]:
    path = store.root / "items" / f"{finding.name}-{finding.scale}"
    return {suffix: path.with_name(f"{path.name}.{suffix}") for suffix in (*SUFFIXES, MARK)}


def stamp_finding(finding: Finding) -> str:
    """A hash of all that decides how the table and the figure of a finding look."""
    own = Path(getfile(type(finding.item))).read_bytes()  # another author's item is not among prunefield's sources
    kept = str(finding.kept)  # drawn without masks
    shown = (finding.digest, finding.scale, kept, checksum(own), hash_sources())
    return checksum("".join(shown).encode())


@cache
def hash_sources() -> str:
    """A hash of prunefield's source files and of the versions of the libraries that make tables and figures."""
    root = Path(prunefield.__file__).parent
    sources = "".join(checksum(path.read_bytes()) for path in sorted(root.rglob("*.py")))
    return checksum((sources + "".join(map(version, ("matplotlib", "numpy", "pandas", "torch")))).encode())
