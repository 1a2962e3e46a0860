"""Fills the tables of the documentation from the published results; with --publish STORE, publishes those first.

In a page, `<!-- published: ITEM … -->` begins the table of the claims of these items, or of all items of a paper, and
`<!-- published: counts PAPER … -->` the table of how many claims have which verdict; `<!-- end -->` ends it. A table
of claims or numbers is left as it is until all of its items are published; `<!-- published: ITEM … | WORDS -->` has
only the claims with these words, and `<!-- published: at SCALE ITEM … -->` those at a scale. `<!-- published: numbers
ITEM | COLUMN, … -->` begins some columns of the table of an item, which is made from the kept values of its runs.
`<!-- published: accuracies ITEM … | DATA, NET -->` begins the printed accuracies of bar2023 on these data beside ours.
`<!-- published: gallery PAPER -->` begins the cards of all items of a paper; their pictures are made by
`docs/pictures.py`. With --demo STORE, the block after `<!-- demo -->` in the README becomes the last screen of
`make demo` for a store at smoke scale.
"""

import argparse
import html
import io
import os
import re
import sys
from collections import Counter
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path
from textwrap import fill as fill_lines
from typing import get_args

import pandas as pd

from prunefield.cli.verbs.reproduce import print_end
from prunefield.core.errors import Error
from prunefield.lab.store import Store
from prunefield.papers import SCALES, Frame, Item, Scale, Status
from prunefield.report.collecting import list_problems
from prunefield.report.kept import read_kept_runs
from prunefield.report.ledger import check_scale, find_items
from prunefield.report.publishing import PublishedItem, find_published, judge_kept, list_published, publish
from prunefield.report.reproduction import Reproduction, read_ledger

ROOT = Path(__file__).parent.parent
KINDS = r"counts |gallery |numbers |accuracies |at \w+ "
REGION = re.compile(rf"(<!-- published: ({KINDS})?(.+?) -->\n).*?(?=<!-- end -->)", re.DOTALL)
PICTURES = ROOT / "docs" / "pictures" / "gallery"
DEMO = 99  # columns of the last screen of the demo
VERDICTS: tuple[Status, ...] = get_args(Status)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("items", nargs="*", metavar="ITEM", help="what to publish [default: all items]")
    parser.add_argument("--publish", metavar="STORE", help="first publish the items that are complete in this store")
    parser.add_argument("--scale", default="laptop", help="the scale to publish [default: laptop]")
    parser.add_argument("--demo", metavar="STORE", help="show the end of the demo that made this store in the README")
    parser.add_argument("--check", action="store_true", help="change nothing; exit with status 1 if a page is outdated")
    args = parser.parse_args()
    readme = ROOT / "README.md"
    try:
        if args.demo:
            found = read_ledger(None, "smoke", args.demo)
            if found.failures:
                sys.exit("\n".join(list_problems(found.failures)))
            readme.write_text(fill_demo(readme.read_text(), found))
        published = (
            publish(Store(args.publish), find_items(args.items), check_scale(args.scale)) if args.publish else []
        )
        outdated = find_outdated()
    except Error as error:
        sys.exit(str(error))
    if args.check:
        sys.exit(f"outdated: {', '.join(map(str, outdated))}; run: make publish" if outdated else 0)
    for path, text in outdated.items():
        path.write_text(text)
    for path in (*published, *outdated):
        print(f"written: {path.relative_to(ROOT)}")
    return 0


def fill_demo(text: str, found: Reproduction) -> str:
    """A page in which the block of code after `<!-- demo -->` is the last screen of the demo."""
    screen, usual = io.StringIO(), Path("prunefield-out")
    width = os.environ.get("COLUMNS")
    os.environ["COLUMNS"] = str(DEMO)
    with redirect_stdout(screen):
        print_end(argparse.Namespace(scale="smoke", store=usual), found, str(usual / "report.html"))
    os.environ.pop("COLUMNS") if width is None else os.environ.update(COLUMNS=width)
    before, _, rest = text.partition("<!-- demo -->\n\n```text\n")
    return f"{before}<!-- demo -->\n\n```text\n{screen.getvalue()}```{rest.partition('```')[2]}"


def find_outdated() -> dict[Path, str]:
    """The pages whose tables are not those of the published results, with the text that they should have."""
    pages = {page: page.read_text() for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))}
    for page, text in pages.items():
        if text.count("<!-- published: ") != text.count("<!-- end -->"):
            sys.exit(f"{page.relative_to(ROOT)}: a table that begins with <!-- published: … --> has no <!-- end -->")
    filled = {page: fill_tables(text) for page, text in pages.items()}
    return {page: text for page, text in filled.items() if text != pages[page]}


def fill_tables(text: str) -> str:
    """A page with its tables made anew."""

    def fill(region: re.Match[str]) -> str:
        names, _, words = region[3].partition(" | ")
        items = find_items(names.split())
        kind, _, scale = (region[2] or "").strip().partition(" ")
        found = {item.kind(): list_published(item, check_scale(scale) if scale else None) for item in items}
        entries = [entry for those in found.values() for entry in those]
        if kind == "gallery":
            parts = [make_gallery(items, found)]
        elif kind == "numbers":
            published = [item for item in items if found[item.kind()]]
            parts = [table for item in published if (table := list_numbers(item, words.split(", ")))]
            if len(parts) < len(published):
                return region[0]
        elif kind == "accuracies":
            parts = [list_accuracies(items, *words.split(", "))]
        elif kind == "counts":
            parts = filter(None, (count_claims(items), list_missing(found)))
        elif all(found.values()):
            parts = [list_claims(entries, words)]
        else:
            return region[0]
        return "\n".join((region[1], *parts, ""))

    return REGION.sub(fill, text)


def list_claims(entries: list[PublishedItem], words: str = "") -> str:
    """One row per claim with these words: what the paper says, what was observed, and the verdict with its note."""
    rows: list[tuple[str, ...]] = [("item", "claim", "paper", "observed", "n", "verdict")]
    for entry in entries:
        name = f"`{entry.item.partition('/')[2]}`, {entry.scale}"
        for claim in (claim for claim in entry.claims if words in claim.text):
            verdict = ": ".join(filter(None, (claim.status, claim.note)))
            texts = (f"{claim.text} ({claim.where})", claim.expected, claim.observed, f"{claim.n:,}", verdict)
            rows.append((name, *map(escape, texts)))
            name = ""  # once for all of its claims
    return write_table(rows)


def list_numbers(item: Item, columns: list[str]) -> str | None:
    """Columns of the table of a published item, from kept values, numbers with four digits; None if values are missing,
    as after a change of its runs that is not published yet.
    """
    entry = find_published(item)
    assert entry is not None
    table = read_kept_table(item, entry.scale)
    if table is None:
        return None
    cells = table[columns].map(lambda cell: f"{cell:.4g}" if isinstance(cell, float) else str(cell))
    return write_table([tuple(map(escape, columns)), *(tuple(map(escape, row)) for row in cells.to_numpy())])


def list_accuracies(items: list[Item], data: str, net: str) -> str:
    """One row per column of the tables of bar2023: the accuracies printed on these data, and mean and deviation of our
    own at the lowest density that they have.
    """
    tables = [table for item in items if (table := read_kept_table(item, "night")) is not None]
    cells: Frame = pd.concat(tables)[["data", "net", "density", "column", "accuracy", "source", "seed"]]
    cells = cells[cells["net"] == net].drop_duplicates()
    printed, ours = cells[(cells["source"] == "paper") & (cells["data"] == data)], cells[cells["source"] == "here"]
    densities, lowest = sorted(set(printed["density"]), reverse=True), min(ours["density"])
    heads = (*(f"printed, {density:.0%}" for density in densities), f"ours, {lowest:.0%}")
    rows: list[tuple[str, ...]] = [("score", *heads)]
    for column in sorted(set(cells["column"]), key=rank_column):
        found = printed[printed["column"] == column].set_index("density")["accuracy"]
        there = ours[(ours["column"] == column) & (ours["density"] == lowest)]["accuracy"]
        if len(found) or len(there):
            values = (f"{found[density]:.2f}" if density in found else "–" for density in densities)
            rows.append((column, *values, f"{there.mean():.1f} ± {there.std():.1f}" if len(there) > 1 else "–"))
    return write_table(rows)


def rank_column(column: str) -> tuple[int, str]:
    """Networks without a choice first, then each method with its variants."""
    methods = ("Dense", "Random", "Magnitude", "SynFlow", "SNIP", "GraSP", "IMP")
    return next(place for place, method in enumerate(methods) if column.startswith(method)), column


def read_kept_table(item: Item, scale: Scale) -> Frame:
    """The table of a published item, from kept values; None if some are missing."""
    finding = judge_kept(item, scale, read_kept_runs(item.kind().partition("/")[0], scale))
    return None if finding is None else finding.table


def count_claims(items: list[Item]) -> str:
    """One row per paper and scale: how many of the claims that are published at this scale have which verdict."""
    rows: list[tuple[str, ...]] = [("paper", "scale", "items", "claims", *VERDICTS)]
    groups: dict[tuple[str, str], list[PublishedItem]] = {}
    for scale in SCALES:
        for item in items:
            if scale in item.scales and (entry := find_published(item, scale)):
                groups.setdefault((item.kind().partition("/")[0], scale), []).append(entry)
    for (paper, scale), group in sorted(groups.items(), key=lambda one: one[0][0]):
        counts = Counter(claim.status for entry in group for claim in entry.claims)
        numbers = (counts.total(), *(counts[status] for status in VERDICTS))
        rows.append((f"`{paper}`", scale, f"{len(group)} of {len(find_items([paper]))}", *map(str, numbers)))
    return write_table(rows) if groups else ""


def make_gallery(items: list[Item], found: Mapping[str, list[PublishedItem]]) -> str:
    """One card per item: title, picture, verdicts with their claims, and the command that makes it."""
    cards = "\n".join(make_card(item, found[item.kind()]) for item in items)
    return f'<div class="gallery" markdown>\n\n{cards}\n</div>\n'


def make_card(item: Item, entries: list[PublishedItem]) -> str:
    name, scale = item.kind(), entries[0].scale if entries else item.own_scale("laptop")
    paper, _, short = name.partition("/")
    pictures = sorted(PICTURES.glob(f"{paper}-{short}-*.png"))
    shown = f"No picture yet: it is made from a store that has {name}."
    if pictures:
        file = f"pictures/gallery/{pictures[0].name}"
        shown = f"[![{escape(f'{name}: {item.title}')}]({file})]({file})"
    made = f"picture: {pictures[0].stem.rpartition('-')[2]} scale; " if pictures else ""
    verdicts = f"<p>Not published yet; it has {len(item.claims)} claims.</p>"
    if entries:
        claims = [claim for entry in entries for claim in entry.claims]
        counts = Counter(claim.status for claim in claims)
        summary = ", ".join(f"{counts[status]} {status}" for status in VERDICTS if counts[status])
        lines = [
            f"<li>{html.escape(f'{claim.text} ({claim.where})', quote=False)}: <b>{claim.status}</b></li>\n"
            for claim in claims
        ]
        verdicts = f"<details><summary>{summary}</summary><ul>\n{''.join(lines)}</ul></details>"
    return (
        f"<div markdown>\n\n**[{name}](papers/{find_page(name)}.md)**: {escape(item.title)}\n\n{shown}\n\n"
        f"{verdicts}\n\n"
        f"{made}verdicts: {' and '.join(entry.scale for entry in entries) + ' scale' if entries else 'none'}\n\n"
        f"`prunefield reproduce {name} --scale {scale}`\n\n</div>\n"
    )


def find_page(name: str) -> str:
    """The page that shows the claims of an item: that of its paper, or one of the others."""
    paper = name.partition("/")[0]
    pages = [ROOT / "docs" / "papers" / f"{paper}.md", *sorted((ROOT / "docs" / "papers").glob(f"{paper}-*.md"))]
    shown = re.compile(rf"<!-- published: .*{re.escape(name)}(?![\w.])")
    return next((page.stem for page in pages if shown.search(page.read_text())), paper)


def list_missing(found: Mapping[str, list[PublishedItem]]) -> str:
    """A sentence on the items that are not published, if there are any."""
    parts = []
    for paper in dict.fromkeys(name.partition("/")[0] for name in found):
        own = [name for name in found if name.startswith(f"{paper}/")]
        missing = [name for name in own if not found[name]]
        if missing:
            names = "all items" if missing == own else ", ".join(name.partition("/")[2] for name in missing)
            parts.append(f"`{paper}` ({names})")
    sentence = f"Not published yet; numbers about them come from earlier laptop runs: {', '.join(parts)}."
    return fill_lines(sentence, 120) + "\n" if parts else ""


def write_table(rows: list[tuple[str, ...]]) -> str:
    lines = [f"| {' | '.join(row)} |\n" for row in rows]
    return "".join([lines[0], "|---" * len(rows[0]), "|\n", *lines[1:]])


def escape(text: str) -> str:
    """Text that Markdown shows as it is, in a cell of a table."""
    return re.sub(r"([\\`*_{}\[\]|])", r"\\\1", html.escape(" ".join(text.split()), quote=False))


if __name__ == "__main__":
    sys.exit(main())
