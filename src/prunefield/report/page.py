"""One self-contained HTML page: no script, no font and no picture from elsewhere."""

import json
from base64 import b64encode
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import prunefield
from prunefield.core.figures import encode_figure
from prunefield.core.files import write_whole
from prunefield.lab.store import Store
from prunefield.report.drawings import format_csv
from prunefield.report.ledger import Finding, load_paper


def write_page(findings: Sequence[Finding], store: Store, path: Path) -> Path:
    """Writes the page of these findings."""
    write_whole(path, render_page(findings, store).encode())
    return path


def render_page(findings: Sequence[Finding], store: Store) -> str:
    """The page as text."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    loader = PackageLoader("prunefield", "report")
    environment = Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    rows = [row for finding in findings for row in finding.rows]
    counts = Counter(row.verdict.status for row in rows)
    return environment.get_template("page.html").render(
        version=prunefield.__version__,
        counts=sorted(counts.items()),
        rows=rows,
        items=[_section(finding, store) for finding in findings],
    )


def _section(finding: Finding, store: Store) -> dict[str, Any]:
    paper = finding.name.partition("/")[0]
    svg = encode_figure(finding.draw(), "svg")
    runs = [_run(store, run) for run in finding.results]
    return {
        "name": finding.name,
        "anchor": finding.name.replace("/", "-"),
        "title": finding.item.title,
        "paper": load_paper(paper).TITLE,
        "scale": finding.scale,
        "choices": finding.item.open_choices,
        "rows": finding.rows,
        "svg": _inline(svg),
        "svg_link": _link("image/svg+xml", svg),
        "csv_link": _link("text/csv", format_csv(finding).encode()),
        "file": finding.name.replace("/", "-") + f"-{finding.scale}",
        "digest": finding.digest,
        "lines": len(finding.table),
        "runs": runs,
        "seeds": ", ".join(map(str, sorted({seed for run in runs for seed in _seeds(run["settings"])}))),
        "seconds": sum(run["made"]["seconds"] for run in runs),
    }


def _run(store: Store, run: Any) -> dict[str, Any]:
    made = store.folder(run).table("made")
    return {"name": run.folder, "settings": run.settings(), "text": json.dumps(run.settings(), indent=2), "made": made}


def _seeds(settings: Any) -> set[int]:
    """Every seed anywhere in the settings."""
    if not isinstance(settings, dict):
        return set()
    inner = {seed for value in settings.values() for seed in _seeds(value)}
    return inner | ({settings["seed"]} if isinstance(settings.get("seed"), int) else set())


def _inline(svg: bytes) -> str:
    """An SVG file as an element of a page. It is our own drawing, so it needs no escaping."""
    text = svg.decode()
    return text[text.index("<svg") :]


def _link(kind: str, data: bytes) -> str:
    return f"data:{kind};base64,{b64encode(data).decode()}"
