"""What the page says about items: claims with their verdicts, figures with their files, settings of the runs."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from prunefield.core.settings import flatten_settings
from prunefield.lab.store import Store
from prunefield.report.item_files import ItemFiles
from prunefield.report.ledger import Finding, explain_null, load_paper
from prunefield.report.page.packing import cut_table
from prunefield.report.publishing import compare_published, describe_makers

LONGEST = 400  # runs of an item whose settings are shown


def describe_item(finding: Finding, files: ItemFiles) -> dict[str, Any]:
    """What the first view needs of an item: its title and its claims."""
    return {
        "name": finding.name,
        "title": finding.item.title,
        "scale": finding.scale,
        "seeds": finding.show_seeds(),
        "rows": files.rows,
        "intervals": has_intervals(files.contents["csv"]),
        "runs": len(finding.results),
        "missing": finding.missing,
        "kept": finding.kept,
        "digest": finding.digest,
        "published": compare_published(finding),
        "choices": finding.item.open_choices,
        "claims": [_describe_claim(claim) for claim in files.claims],
    }


def has_intervals(csv: bytes) -> bool:
    """Whether a table has a column with its bounds.

    >>> has_intervals(b"seed,width,width_low,width_high\\n"), has_intervals(b"seed,is_low\\n")
    (True, False)
    """
    head = csv.decode().partition("\n")[0].strip().split(",")
    return any({f"{name}_low", f"{name}_high"} <= set(head) for name in head)


def _describe_claim(row: Mapping[str, Any]) -> dict[str, Any]:
    names = ("text", "where", "expected", "decided_at", "status", "observed", "n", "note")
    null = row["null"] and {**row["null"], "outcome": explain_null(row["null"]["status"])}
    return {**{name: row[name] for name in names}, "null": null}


def describe_figure(finding: Finding, files: ItemFiles, store: Store) -> dict[str, Any]:
    """The figure of an item and all that is shown on demand: its files, table, settings and versions."""
    made = describe_makers(store, finding)
    settings = {run.folder: (run.settings(), one) for run, one in zip(finding.results, made, strict=True)}
    return {
        **files.about,
        **{suffix: cut_table(data.decode()) if suffix == "csv" else data for suffix, data in files.contents.items()},
        "settings": sort_settings(settings),
        "made": summarise_versions(made),
    }


def sort_settings(runs: Mapping[str, tuple[dict[str, Any], dict[str, Any]]]) -> dict[str, Any]:
    """For each kind of run: the settings that differ between its runs, with their values, and those that are shared."""
    kinds: dict[str, list[tuple[str, dict[str, Any], dict[str, Any]]]] = {}
    for name, (settings, made) in runs.items():
        kinds.setdefault(str(settings.get("kind")), []).append((name, flatten_settings(settings), made))
    return {kind: _compare_settings(group) for kind, group in kinds.items()}


def _compare_settings(group: list[tuple[str, dict[str, Any], dict[str, Any]]]) -> dict[str, Any]:
    keys = list(dict.fromkeys(key for _, flat, _ in group for key in flat))
    varying = [key for key in keys if len({repr(flat.get(key)) for _, flat, _ in group}) > 1]
    shared = {key: show_setting(group[0][1].get(key)) for key in keys if key not in varying}
    rows = [
        [name, made.get("seconds"), *(show_setting(flat.get(key)) for key in varying)] for name, flat, made in group
    ]
    return {"varying": varying, "shared": shared, "rows": rows[:LONGEST], "runs": len(rows)}


def show_setting(value: Any) -> str:
    """A value of a setting in a few characters.

    >>> show_setting((256, 256)), show_setting(None), show_setting(1e-06)
    ('256, 256', '–', '1e-06')
    """
    if value is None or value == ():
        return "–"
    if isinstance(value, tuple | list):
        return ", ".join(map(show_setting, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def summarise_versions(made: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The versions, machines and devices that made runs, how long they took, and when they were finished."""
    rows = list(made)
    names = ("prunefield", "python", "torch", "numpy", "scipy", "system", "machine", "processor", "device")
    found: dict[str, Any] = {name: sorted({str(row[name]) for row in rows if name in row}) for name in names}
    times = sorted(str(row["finished"]) for row in rows if row.get("finished"))
    seconds = [row["seconds"] for row in rows if isinstance(row.get("seconds"), int | float)]
    first, last = (times[0], times[-1]) if times else ("", "")
    return {**found, "seconds": math.fsum(seconds), "first": first, "last": last}


def list_papers(names: Iterable[str]) -> list[dict[str, str]]:
    """Name and title of the papers of items, in their order."""
    papers = dict.fromkeys(name.partition("/")[0] for name in names)
    return [{"name": name, "title": load_paper(name).TITLE} for name in papers]
