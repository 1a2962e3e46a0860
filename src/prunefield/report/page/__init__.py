"""The page: one HTML file with script, styles and data in it, which works offline and requests nothing.

How it is built. `web/` has the template, the styles and the script, one file for each room of the page; they are put
into the file as they are, in the order of SCRIPTS. Data are islands (`packing`): one small one with all claims, which
comes before the script, so that the first view does not wait for the rest; then one for each figure and for each run
of the explorers, unpacked when they are looked at. Figures are shown as images, so that no identifier, style or script
of a drawing can meet those of the page or of another drawing. The script builds every element by itself and puts text
into it as text, so a name with HTML in it is shown and not run; the policy of the file allows no other script, no
request and no style but its own.

    contents   claims, figures, tables and settings of the items        ledger.js, search.js, items.js
    fields     receptive fields of `imp` runs, round by round           fields.js, unit.js
    dynamics   weights of `neuron` and `flow` runs over time            dynamics.js
    prunings   densities and masks of `pruned` runs, bounds of `sketch` pruning.js
    gaps       what failed, stopped or is not a run                     store.js

Every part has a share of the 8 MB that a page may take (LARGEST); what does not fit is left out, and the page says so.
PDF files are put in last, as far as there is room: `prunefield reproduce` writes them into the store anyway.
"""

from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any

import prunefield
from prunefield.core.files import write_whole
from prunefield.engines import Engine, Outcome
from prunefield.lab.store import Store, open_store
from prunefield.report.collecting import Collected, describe_problem
from prunefield.report.item_files import make_item_files, read_item_files
from prunefield.report.ledger import Finding
from prunefield.report.page.contents import describe_figure, describe_item, list_papers, summarise_versions
from prunefield.report.page.dynamics import describe_dynamics
from prunefield.report.page.fields import explore_fields, join_fields
from prunefield.report.page.gaps import describe_store
from prunefield.report.page.packing import pack_island
from prunefield.report.page.prunings import describe_prunings
from prunefield.report.page.room import drop_runs, pack_pdfs
from prunefield.report.publishing import describe_makers

LARGEST = 7_400_000  # bytes of all islands but that of the claims: with it and the script less than 8 MB
SCRIPTS = (
    "elements", "islands", "charts", "address", "verdicts", "items", "search", "ledger", "fields", "unit", "dynamics",
    "pruning", "store", "main",
)  # fmt: skip
STYLES = ("colours", "page", "parts", "explorers")
Explored = tuple[dict[str, Any], dict[str, str]]  # what an explorer lists, and its packed islands
EXPLORERS = {  # what collects their data; fields take the longest and are divided between two processes
    "fields": (partial(explore_fields, part=0, parts=2), partial(explore_fields, part=1, parts=2)),
    "dynamics": (describe_dynamics,),
    "pruning": (describe_prunings,),
}


def write_page(found: Collected, store: Store, path: Path, *, engine: Engine | None = None) -> Path:
    """Writes the page of what was found in a store."""
    page = render_page(found.findings, store, missing=found.missing, unreadable=found.unreadable, engine=engine)
    write_whole(path, page.encode())
    return path


def render_page(
    findings: Sequence[Finding],
    store: Store,
    *,
    missing: Sequence[Mapping[str, Any]] = (),
    unreadable: Sequence[Mapping[str, Any]] = (),
    engine: Engine | None = None,
) -> str:
    """The page as text; the data of the explorers are collected by processes of the engine, if there is one."""
    unreadable, islands, items = list(unreadable), {}, []
    explore = _explore_store(store, engine)
    for finding in findings:
        try:
            drawn = read_item_files(finding, store) or make_item_files(finding)
            item, figure = describe_item(finding, drawn), describe_figure(finding, drawn, store)
        except Exception as error:  # the drawing of one item must not cost the page of all others
            unreadable.append(describe_problem(store, finding.item, finding.scale, error))
        else:
            items.append(item)
            islands[f"item/{finding.name}"] = figure
    pdfs = {name: island.pop("pdf") for name, island in islands.items() if "pdf" in island}
    packed = {name: pack_island(island) for name, island in islands.items()}
    summaries = {}
    for name, (summary, more) in explore().items():
        summaries[name] = summary
        packed |= more
    drop_runs(packed, summaries, LARGEST)
    packed |= pack_pdfs(pdfs, LARGEST - sum(map(len, packed.values())))
    index = {
        "version": prunefield.__version__,
        "papers": list_papers(item["name"] for item in [*items, *missing, *unreadable]),
        "items": items,
        **summaries,
        "missing": missing,
        "unreadable": unreadable,
        "store": describe_store(store),
        "made": summarise_versions(made for found in findings for made in describe_makers(store, found)),
    }
    return _fill_template(pack_island(index), packed)


def _explore_store(store: Store, engine: Engine | None) -> Callable[[], dict[str, Explored]]:
    """Lets processes of an engine collect the data of the explorers; the result waits for them.

    What a process could not do, and everything if there is no engine, is done here.
    """
    work = [(str(store.root.resolve()), name, part) for name, parts in EXPLORERS.items() for part in range(len(parts))]
    outcomes = iter(()) if engine is None else engine.map(describe_explorer, work)
    first = next(outcomes, None)  # the processes begin

    def finish() -> dict[str, Explored]:
        ended = [outcome for outcome in (first, *outcomes) if isinstance(outcome, Outcome) and outcome.error is None]
        known = {outcome.index: outcome.value for outcome in ended}
        found: dict[str, list[Explored]] = {name: [] for name in EXPLORERS}
        for index, piece in enumerate(work):
            found[piece[1]].append(known.get(index) or describe_explorer(piece))
        return {name: _join_parts(name, parts) for name, parts in found.items()}

    return finish


def describe_explorer(work: tuple[str, str, int]) -> Explored:
    """A part of the data of an explorer of a store."""
    root, name, part = work
    summary, islands = EXPLORERS[name][part](open_store(root))
    return summary, {island: pack_island(data) for island, data in islands.items()}


def _join_parts(name: str, parts: Sequence[Explored]) -> Explored:
    summaries = [summary for summary, _ in parts]
    islands = {island: text for _, packed in parts for island, text in packed.items()}
    return join_fields(summaries) if name == "fields" else summaries[0], islands


def _fill_template(index: str, islands: Mapping[str, str]) -> str:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    script = "\n".join(read_web_file(f"{name}.js") for name in SCRIPTS)
    style = "\n".join(read_web_file(f"{name}.css") for name in STYLES)
    script = f'"use strict";\n(() => {{\n{script}\n}})();\n'
    loader = PackageLoader("prunefield", "report/page/web")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    sources = {"script": f"'{hash_source(script)}'", "style": f"'{hash_source(style)}'"}
    template = environment.get_template("page.html")
    return template.render(index=index, islands=islands, script=script, style=style, sources=sources)


def read_web_file(name: str) -> str:
    """A file of `web/`."""
    return (files("prunefield.report.page") / "web" / name).read_text(encoding="utf-8")


def hash_source(text: str) -> str:
    """The name of a script or style in a content security policy."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
