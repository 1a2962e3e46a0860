"""What the terminal shows of claims: the ledger as a table, as blocks or as lines, and a summary of fifteen lines."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from prunefield.core.errors import show_line
from prunefield.core.terminal import count_things, find_width, open_console, shorten, show_table, wrap_lines
from prunefield.report.ledger import explain_null

Claims = Sequence[Mapping[str, Any]]  # as `Row.as_json` gives them
COLOURS = {"reproduced": "green", "corrected": "cyan", "not reproduced": "red"}
WORDS = {
    "reproduced": "hold",
    "corrected": "corrected",
    "not reproduced": "fail",
    "not testable at this scale": "undecided",
}
TABLE = 160  # columns from which on the ledger is a table; in fewer, its cells would break formulas
SUMMARY = 64  # columns that the summary takes; in fewer, its table is closer or a block for each paper
SHOWN = 3  # findings of the summary
CASE = 24  # characters in parentheses at the end of a claim that are kept when it is shortened


def show_ledger(claims: Claims) -> None:
    """Prints claims: what the paper says, what was observed, the verdict, and that of the null.

    A wide terminal gets a table, a narrow one a block for each claim, and a pipe one line for each, with tabs.
    """
    width = find_width()
    if width is None:
        print("\t".join(("item", "scale", "verdict", "claim", "place", "paper", "observed", "null", "n")))
        for claim in claims:
            keys = ("item", "scale", "status", "text", "where", "expected", "observed")
            print("\t".join((*(show_line(claim[key]) for key in keys), _explain(claim), str(claim["n"]))))
    elif width < TABLE:
        for claim in claims:
            _print_block(claim, width)
    else:
        _print_table(claims)
    counted = count_verdicts(claims)
    print(counted if width is None else "\n".join(wrap_lines(counted, width, rest="  ")))


def _explain(claim: Mapping[str, Any]) -> str:
    return "–" if claim["null"] is None else explain_null(claim["null"]["status"])


def _print_block(claim: Mapping[str, Any], width: int) -> None:
    from rich.text import Text

    status = claim["status"]
    head = Text(f"{claim['item']} ", style="bold").append(status, style=COLOURS.get(status, "yellow"))
    lines = wrap_lines(show_line(f"{claim['text']} ({claim['where']})"), width, first="  ")
    parts = {"paper": claim["expected"], "observed": claim["observed"], "note": claim["note"]}
    parts["null"] = f"{_explain(claim)}; n = {claim['n']}, {claim['scale']} scale"
    for name, text in parts.items():
        lines += wrap_lines(show_line(text), width, first=f"    {name:<9}") if text else []
    console = open_console()
    console.print(head)
    print("\n".join(lines), end="\n\n")


def _print_table(claims: Claims) -> None:
    from rich.markup import escape
    from rich.table import Table

    table = Table(title="Ledger of claims", title_justify="left", header_style="bold", show_lines=True)
    for name, ratio in (("item", 2), ("claim", 5), ("paper", 3), ("observed", 5), ("verdict", 2), ("null", 2)):
        table.add_column(name, ratio=ratio, overflow="fold")
    table.add_column("n", justify="right")
    for claim in claims:
        status = claim["status"]
        table.add_row(
            f"{claim['item']}\n{claim['scale']}",
            escape(f"{claim['text']} ({claim['where']})"),
            escape(claim["expected"]),
            escape("\n".join(filter(None, (claim["observed"], claim["note"])))),
            f"[{COLOURS.get(status, 'yellow')}]{status}[/]",
            _explain(claim),
            str(claim["n"]),
        )
    open_console().print(table)


def count_verdicts(claims: Claims) -> str:
    """How many claims there are with each verdict."""
    counts = Counter(claim["status"] for claim in claims)
    listed = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    return f"{count_things(len(claims), 'claim')}: {listed}" if claims else "no claims"


def show_summary(claims: Claims) -> None:
    """Prints the verdicts on each paper, and the findings most worth seeing."""
    papers = list(dict.fromkeys(_paper_of(claim) for claim in claims))
    groups = {paper: [claim for claim in claims if _paper_of(claim) == paper] for paper in papers}
    rows = []
    for paper, group in {**groups, **({"all": claims} if len(groups) > 1 else {})}.items():
        counts = Counter(claim["status"] for claim in group)
        rows.append((paper, len(group), *(counts[status] for status in WORDS)))
    columns = ("paper", "claims", *WORDS.values())
    if (find_width() or SUMMARY) < SUMMARY:
        show_table(columns, rows)
    else:
        for paper, total, *parts in (columns, *rows):
            print(f"{paper:<12}{total:>8}" + "".join(f"{part:>11}" for part in parts))
    if chosen := choose_highlights(claims):
        print("\nWorth seeing")
        print("\n".join(line for claim in chosen for line in _describe_highlight(claim)))


def choose_highlights(claims: Claims, most: int = SHOWN) -> list[Mapping[str, Any]]:
    """Of the claims that their items highlight the decided ones, one of each paper before a second one of any, and one
    of each item of a paper before a second one of any.

    Within a paper those that contradict it come first.
    """
    marked = [claim for claim in claims if claim.get("highlight") and claim["status"] in COLOURS]
    places = sorted(range(len(marked)), key=lambda place: marked[place]["status"] == "reproduced")
    again = _count_before(marked[place]["item"] for place in places)
    places = [place for _, place in sorted(zip(again, places, strict=True), key=lambda pair: pair[0])]
    order = dict(zip(places, _count_before(_paper_of(marked[place]) for place in places), strict=True))
    chosen = sorted(order, key=lambda place: (order[place], place))[:most]
    return [marked[place] for place in sorted(chosen)]


def _count_before(names: Iterable[str]) -> list[int]:
    """How often each of the names was there before.

    >>> _count_before(["a", "b", "a"])
    [0, 0, 1]
    """
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        found.append(seen[name])
        seen[name] += 1
    return found


def _describe_highlight(claim: Mapping[str, Any]) -> Iterator[str]:
    """Two lines: the claim, and the verdict with what was observed."""
    width = find_width() or 10**6
    yield _shorten_before_case(f"  {claim['item']}: {show_line(claim['text'])}", width)
    yield shorten(f"    {claim['status']}: {show_line(claim['observed'])}", width)


def _shorten_before_case(text: str, most: int) -> str:
    """A shortened text that still ends with its case, which may be all that tells two claims of an item apart.

    >>> _shorten_before_case("Masks become local (leaves)", 22)
    'Masks become… (leaves)'
    """
    _, space, case = text.rpartition(" (")
    if len(text) <= most or not (space and case.endswith(")") and len(case) <= CASE):
        return shorten(text, most)
    return f"{shorten(text, most - len(case) - 2)}{space}{case}"


def _paper_of(claim: Mapping[str, Any]) -> str:
    return claim["item"].partition("/")[0]
