"""Room on the page: PDF files are left out first, then runs of the explorers, the last of the longest list first."""

from collections.abc import Mapping
from typing import Any

from prunefield.report.page.packing import pack_island

LISTS = {"fields": "runs", "dynamics": "entries"}  # of the explorers with an island for each run


def drop_runs(islands: dict[str, str], summaries: Mapping[str, dict[str, Any]], room: int) -> None:
    """Takes runs out of the explorers until all islands fit into `room` bytes; their problems say how many.

    >>> shown = {"fields": {"runs": [{"run": "a"}, {"run": "b"}], "problems": {}}}
    >>> islands = {"item/x": "....", "fields/a": "12345678", "fields/b": "12345678"}
    >>> drop_runs(islands, shown, 15)
    >>> list(islands), shown["fields"]
    (['item/x', 'fields/a'], {'runs': [{'run': 'a'}], 'problems': {'the rest': '1 of 2 do not fit on the page'}})
    """
    sizes = {
        name: sum(len(text) for island, text in islands.items() if island.startswith(f"{name}/")) for name in LISTS
    }
    before = {name: len(summaries[name][key]) for name, key in LISTS.items() if name in summaries}
    excess = sum(map(len, islands.values())) - room
    while excess > 0:
        left = [name for name in before if summaries[name][LISTS[name]]]
        if not left:
            return
        name = max(left, key=sizes.__getitem__)
        size = len(islands.pop(f"{name}/{summaries[name][LISTS[name]].pop()['run']}"))
        sizes[name], excess = sizes[name] - size, excess - size
        dropped = before[name] - len(summaries[name][LISTS[name]])
        summaries[name]["problems"]["the rest"] = f"{dropped} of {before[name]} do not fit on the page"


def pack_pdfs(pdfs: Mapping[str, bytes], room: int) -> dict[str, str]:
    """The PDF files for which there is room, small ones first."""
    packed = {}
    for name, pdf in sorted(pdfs.items(), key=lambda pair: len(pair[1])):
        text = pack_island({"pdf": pdf})
        room -= len(text)
        if room >= 0:
            packed[name.replace("item/", "pdf/", 1)] = text
    return packed
