"""What is not on the page and why: runs that failed, stopped or are under way, and folders that are not runs."""

from collections import Counter
from shlex import quote
from typing import Any

from prunefield.core.errors import Error
from prunefield.lab.store import Store

MOST = 200  # runs of each sort that are named


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
