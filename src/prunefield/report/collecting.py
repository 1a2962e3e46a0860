"""What a store has of items: their findings, what is missing of the others, and why some could not be read."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from shlex import quote
from typing import Any

from prunefield.core.errors import Error, list_names
from prunefield.lab.execution import order_runs
from prunefield.lab.store import Store
from prunefield.papers import SCALES, Item, Scale
from prunefield.report.item_files import read_item_files
from prunefield.report.ledger import Finding, choose_scale, read_finding
from prunefield.report.publishing import find_with_kept

FEW = 3  # items that a line names


@dataclass(frozen=True)
class Collected:
    """The findings of a store, and a description of each item that is `missing` or `unreadable`."""

    findings: list[Finding] = field(default_factory=list)
    missing: list[dict[str, Any]] = field(default_factory=list)
    unreadable: list[dict[str, Any]] = field(default_factory=list)

    @property
    def problems(self) -> dict[str, str]:
        """Why items could not be read."""
        return {item["name"]: item["problem"] for item in self.unreadable}


def collect_findings(
    store: Store, items: Iterable[Item], scale: Scale | None = None, *, published: bool = False, for_page: bool = True
) -> Collected:
    """The findings of items at a scale, or each at the largest scale that is complete; one bad item does not matter.

    With `published`, kept values stand in for runs that are not in the store. What is missing is described `for_page`
    only, and items that are drawn already are judged later.
    """
    found = Collected()
    for item in items:
        try:
            finding = (find_with_kept if published else read_finding)(store, item, scale)
            if finding:
                if not for_page or read_item_files(finding, store) is None:
                    _ = finding.rows  # a record without its values or tensors is found here
                found.findings.append(finding)
            elif for_page:
                found.missing.append(_describe_gap(store, item, scale))
        except Exception as error:
            found.unreadable.append(describe_problem(store, item, scale or _find_scale(store, item), error))
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
    return {**_describe_item(store, item, own), "done": done, "needed": needed, "seconds": seconds}


def describe_problem(store: Store, item: Item, scale: Scale, error: Exception) -> dict[str, Any]:
    """Why an item could not be read or drawn, and the command that makes it again."""
    return {**_describe_item(store, item, scale), "problem": explain_problem(error)}


def _describe_item(store: Store, item: Item, scale: Scale) -> dict[str, Any]:
    command = f"prunefield reproduce {item.kind()} --scale {scale} --store {quote(str(store.root))}"
    return {"name": item.kind(), "title": item.title, "scale": scale, "command": command}


def _find_scale(store: Store, item: Item) -> Scale:
    """The scale at which an item is judged, its runs damaged or not; its first if there is none."""
    try:
        chosen = choose_scale(store, item)
    except Exception:  # its plan is what fails
        chosen = None
    return chosen[0] if chosen else item.scales[0]


def explain_problem(error: Exception) -> str:
    """One line for a reader: our own errors as they are, others with their name."""
    text = " ".join(str(error).split())[:500]
    return text if isinstance(error, Error) else f"{type(error).__name__}: {text}"


def list_problems(problems: Mapping[str, str]) -> list[str]:
    """A line for each problem, with the items that have it: one damaged run is a problem of all items that use it.

    >>> list_problems({"a/fig1": "x is damaged", "b/fig2": "y is damaged", "a/fig3": "x is damaged"})
    ['a/fig1, a/fig3 left out: x is damaged', 'b/fig2 left out: y is damaged']
    """
    owners: dict[str, list[str]] = {}
    for name, problem in problems.items():
        owners.setdefault(problem, []).append(name)
    return [f"{list_names(names, FEW)} left out: {problem}" for problem, names in owners.items()]
