"""What is not on the page and why: items whose runs are missing, damaged or failed, and folders that are no runs."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from shlex import quote
from typing import Any

from prunefield.core.errors import Error
from prunefield.lab.execution import order_runs
from prunefield.lab.store import Store
from prunefield.papers import SCALES, Item, Scale
from prunefield.report.item_files import read_item_files
from prunefield.report.ledger import Finding, read_finding
from prunefield.report.publishing import find_with_kept

MOST = 200  # runs of each sort that are named


@dataclass(frozen=True)
class Collected:
    """The findings of a store; `missing` items are described, and `problems` say why an item could not be read."""

    findings: list[Finding] = field(default_factory=list)
    missing: list[dict[str, Any]] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)


def collect_findings(
    store: Store, items: Iterable[Item], scale: Scale | None = None, *, published: bool = False
) -> Collected:
    """The findings of items at a scale, or each at the largest scale that is complete; one bad item does not matter.

    With `published`, kept values stand in for runs that are not in the store.
    """
    found = Collected()
    for item in items:
        try:
            finding = (find_with_kept if published else read_finding)(store, item, scale)
            if finding:
                if read_item_files(finding, store) is None:
                    _ = finding.rows  # a record without its values or tensors is found here
                found.findings.append(finding)
            else:
                found.missing.append(_describe_gap(store, item, scale))
        except Exception as error:
            found.problems[item.kind()] = explain_problem(error)
    return found


def _describe_gap(store: Store, item: Item, scale: Scale | None) -> dict[str, Any]:
    """How many runs of an item are there, at the scale that was asked for or, short of the paper's own, is nearest."""
    counts: dict[Scale, tuple[int, int, float]] = {}
    likely: list[Scale] = [scale] if scale else [own for own in item.scales if own != SCALES[-1]]
    for candidate in likely or item.scales:
        runs = order_runs(item.plan(candidate))
        absent = [run for run in runs if not store.folder(run).is_done]
        counts[candidate] = (len(runs) - len(absent), len(runs), sum(run.seconds() for run in absent))
    own = max(counts, key=lambda name: (counts[name][0] / max(1, counts[name][1]), -SCALES.index(name)))
    done, needed, seconds = counts[own]
    command = f"prunefield reproduce {item.kind()} --scale {own} --store {quote(str(store.root))}"
    return {
        "name": item.kind(), "title": item.title, "scale": own, "done": done, "needed": needed, "seconds": seconds,
        "command": command,
    }  # fmt: skip


def describe_store(store: Store) -> dict[str, Any]:
    """How many runs there are of each kind and status; the failed, stopped and foreign ones by name."""
    counts: Counter[tuple[str, str]] = Counter()
    listed: dict[str, list[dict[str, Any]]] = {"failed": [], "stopped": [], "running": [], "foreign": []}
    for folder in store:
        status = folder.status
        counts[folder.kind if status != "foreign" else "", status] += 1
        if status in listed and len(listed[status]) < MOST:
            entry: dict[str, Any] = {"name": folder.name}
            if status == "failed":
                entry["message"] = _read_message(folder)
            elif status != "foreign":
                entry["done"] = folder.progress()
            listed[status].append(entry)
    kinds = sorted({kind for kind, _ in counts if kind})
    table = {kind: {status: number for (own, status), number in counts.items() if own == kind} for kind in kinds}
    statuses = Counter[str]()
    for (_, status), number in counts.items():
        statuses[status] += number
    return {
        "root": str(store.root),
        "quoted": quote(str(store.root)),
        "kinds": table,
        "statuses": dict(statuses),
        **listed,
    }


def _read_message(folder: Any) -> str:
    try:
        return str(folder.table("failure").get("message", ""))[:500]
    except Error as error:
        return str(error)


def explain_problem(error: Exception) -> str:
    """One line for a reader: our own errors as they are, others with their name."""
    text = " ".join(str(error).split())[:500]
    return text if isinstance(error, Error) else f"{type(error).__name__}: {text}"
