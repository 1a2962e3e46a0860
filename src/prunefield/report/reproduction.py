"""Reproduction of items: execute their runs, check their claims, write their files, and show what was found."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prunefield.core.display import Displayed
from prunefield.core.errors import UsageError, unknown
from prunefield.core.figures import make_figure
from prunefield.core.progress import track_progress
from prunefield.engines import Engine, Outcome, choose_engine, count_cores
from prunefield.engines.local import Local, keep_workers
from prunefield.lab.bars import show_bar
from prunefield.lab.conditions import check_device
from prunefield.lab.execution import carry_out, order_runs, warn
from prunefield.lab.joining import take_runs
from prunefield.lab.listing import write_owner
from prunefield.lab.plan import Plan, make_plan
from prunefield.lab.store import Store, find_store, open_store, read_store
from prunefield.loggers import Logger
from prunefield.papers import Item, Scale
from prunefield.report.collecting import collect_findings
from prunefield.report.item_files import write_item_files
from prunefield.report.ledger import Finding, check_scale, explain_null, find_items, read_finding
from prunefield.report.publishing import compare_published, find_with_kept, list_published
from prunefield.report.screen import count_verdicts, show_ledger
from prunefield.report.staleness import list_unkept
from prunefield.runs import Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

PAINTS = {"reproduced": "#4daf7c", "corrected": "#4c9fc4", "not reproduced": "#d6604d"}


@dataclass(frozen=True, repr=False)
class Reproduction(Displayed):
    """What was found about items: the verdict on every claim, and the table and figure of every item.

    `entries` has for each item its title, digest, files, runs and claims, or nothing if it is not finished; `failures`
    says why a run or an item failed.
    """

    store: Store | None  # None for what is published: it has claims, but no tables and figures
    entries: Mapping[str, Mapping[str, Any]]
    failures: Mapping[str, str] = field(default_factory=dict)
    with_kept: bool = False  # published values stand in for runs that are not in the store

    @property
    def claims(self) -> list[dict[str, Any]]:
        """Every claim with its verdict and that of its null."""
        return [claim for entry in self.entries.values() for claim in entry.get("claims", ())]

    @property
    def unfinished(self) -> list[str]:
        """The items whose runs are not all in the store."""
        return [name for name, entry in self.entries.items() if not entry and name not in self.failures]

    @property
    def contradicted(self) -> list[dict[str, Any]]:
        """The claims that were not reproduced."""
        return [claim for claim in self.claims if claim["status"] == "not reproduced"]

    @property
    def title(self) -> str:
        return count_verdicts(self.claims) + (f"; {len(self.failures)} failed" if self.failures else "")

    def frame(self) -> "DataFrame":
        """One row per claim: item, scale, what the paper says, what was observed, the verdict, and that of the null."""
        from pandas import DataFrame

        columns = ["item", "scale", "text", "where", "expected", "observed", "status", "null", "n", "note"]
        rows = [{**claim, "null": claim["null"] and claim["null"]["status"]} for claim in self.claims]
        return DataFrame(rows, columns=columns)

    def overview(self) -> "DataFrame":
        table = self.frame().drop(columns=["scale", "where", "n", "note"])
        return table.assign(null=table["null"].map(explain_null, na_action="ignore"))

    def notes(self) -> list[str]:
        return [f"{name} failed: {reason}" for name, reason in self.failures.items()]

    def show(self) -> None:
        """Prints the ledger; in a notebook it also displays the figures."""
        import sys

        if self.claims:
            show_ledger(self.claims)
        else:
            print(self.title)
        if "ipykernel" in sys.modules:
            from IPython.display import display  # pyright: ignore[reportMissingImports] - there in every notebook

            for figure in self.figures.values():
                display(figure)

    @cached_property
    def findings(self) -> dict[str, Finding]:
        """The finished items, with their results."""
        scales = {claim["item"]: claim["scale"] for claim in self.claims}
        store, read = self.store, find_with_kept if self.with_kept else read_finding
        found = {name: read(store, Item.parse(name), scale) for name, scale in scales.items()} if store else {}
        return {name: finding for name, finding in found.items() if finding}

    @property
    def tables(self) -> "dict[str, DataFrame]":
        """The table of each item."""
        return {name: finding.table for name, finding in self.findings.items()}

    @cached_property
    def figures(self) -> "dict[str, Figure]":
        """The figure of each item."""
        return {name: finding.draw() for name, finding in self.findings.items()}

    def plot(self, name: str | None = None) -> "Figure":
        """The figure of an item; without a name that of the only one, or the verdicts on all items."""
        if name is None and len(self.findings) != 1:
            return make_figure(self.draw, (self.size[0], 1 + 0.25 * len(self.findings)))
        if name is not None and name not in self.findings:
            raise unknown("finished item", name, self.findings)
        return self.findings[name or next(iter(self.findings))].draw()

    def draw(self, figure: "Figure") -> None:
        """The number of claims of each item by their verdict."""
        table: Any = self.frame().groupby(["item", "status"], sort=False).size().unstack(fill_value=0)
        if table.empty:
            raise UsageError("nothing to plot: no item is finished")
        colours = [PAINTS.get(status, "lightgrey") for status in table]
        table[::-1].plot.barh(stacked=True, ax=figure.subplots(), xlabel="claims", ylabel="", color=colours)


def plan_items(
    names: str | Iterable[str] | None = None,
    scale: str = "smoke",
    store: Store | Path | str | None = None,
    *,
    device: str = "cpu",
    unpublished: bool = False,
) -> Plan:
    """What `reproduce` would execute, and the time that it takes."""
    stored = find_store(store)
    owners = find_owners(find_items(_list_names(names)), check_scale(scale), unpublished=unpublished, store=stored)
    return make_plan(owners, stored, items=owners, device=device)


def read_ledger(
    names: str | Iterable[str] | None = None, scale: str | None = None, store: Store | Path | str | None = None
) -> Reproduction:
    """What is stored about items, at one scale or at the largest that is complete; nothing is executed.

    An item that cannot be read is a failure of the result, and the others are there.
    """
    chosen, wanted = find_items(_list_names(names)), None if scale is None else check_scale(scale)
    stored = read_store(store)
    found = collect_findings(stored, chosen, wanted, for_page=False)
    described = {finding.name: describe_finding(finding) for finding in found.findings}
    return Reproduction(stored, {item.kind(): described.get(item.kind(), {}) for item in chosen}, found.problems)


def read_published_ledger(names: str | Iterable[str] | None = None, scale: str | None = None) -> Reproduction:
    """What is shipped with prunefield about items, at one scale or each claim at the largest that has it."""
    wanted = None if scale is None else check_scale(scale)
    found = {item.kind(): list_published(item, wanted) for item in find_items(_list_names(names))}
    entries = {name: [entry.as_json() for entry in those] for name, those in found.items()}
    claims = {name: [claim for entry in those for claim in entry["claims"]] for name, those in entries.items()}
    return Reproduction(
        None, {name: those[0] | {"claims": claims[name]} if those else {} for name, those in entries.items()}
    )


def reproduce(
    names: str | Iterable[str] | None = None,
    scale: str = "smoke",
    store: Store | Path | str | None = None,
    *,
    jobs: int | None = None,
    retry: int | None = None,
    engine: Engine | Mapping[str, Any] | str = "local",
    device: str = "cpu",
    progress: bool = True,
    report: Callable[[str], None] = warn,
    log: Logger | Mapping[str, Any] | str | None = None,
    pack: Path | str | None = None,
    unpublished: bool = False,
) -> Reproduction:
    """Executes the runs of items such as `redman2025/fig4` or of whole papers (all by default) and checks their claims.

    Runs in the store are not repeated, and an interrupted call continues where it stopped. Table and figure of each
    item are written to `items/` in the store. With `pack`, a file that `prunefield runs pack` wrote, runs are taken out
    of it after they were checked. The other arguments are those of `Study.run`. With `unpublished`, runs whose values
    are shipped with prunefield are left out, and items are judged from both.
    """
    chosen, checked, mapper = find_items(_list_names(names)), check_scale(scale), choose_engine(engine, jobs, retry)
    if mapper.is_here:
        check_device(device)
    opened = open_store(store)
    owners = find_owners(chosen, checked, unpublished=unpublished, store=opened)
    if pack is not None:
        take_runs(opened, pack, owners, report)

    def begin() -> None:
        opened.create()
        for item in chosen:
            own = [run.folder for run in owners if item.kind() in owners[run]]
            write_owner(opened.root, item.kind(), checked, own)

    first = {run: items[0] for run, items in owners.items()}
    with keep_workers():
        with show_bar(f"{checked} scale", shown=progress, names=first) as tell:
            failed = carry_out(opened, owners, mapper, device=device, tell=tell, report=report, log=log, begin=begin)
        failures = {run.folder: reason for run, reason in failed.items()}
        entries: dict[str, dict[str, Any]] = {item.kind(): {} for item in chosen}
        work, drawn = [(str(opened.root.resolve()), name, checked, unpublished) for name in entries], 0
        near = mapper if mapper.is_here else Local(jobs=min(4, count_cores()))  # figures need no cluster
        with track_progress("figures", unit="items", shown=progress) as show:
            for outcome in near.map(write_item, work):
                if isinstance(outcome, Outcome):
                    name = work[outcome.index][1]
                    if outcome.error is None:
                        entries[name] = outcome.value
                    else:
                        failures[name] = outcome.error
                    drawn += 1
                    show(drawn, len(work), f"{drawn} of {len(work)} items {name}")
    for entry in entries.values():
        entry |= {"files": [str(opened.root / file) for file in entry["files"]]} if entry else {}
    return Reproduction(opened, entries, failures, unpublished)


def find_owners(
    chosen: Sequence[Item], scale: Scale, *, unpublished: bool = False, store: Store | None = None
) -> dict[Run, list[str]]:
    """All runs of items, those included that others need, with the items that use them; or only those that are not
    kept, which depends on what the store has.
    """
    plans = (
        list_unkept(chosen, scale, store)
        if unpublished
        else {item.kind(): order_runs(item.plan(scale)) for item in chosen}
    )
    owners: dict[Run, list[str]] = {}
    for name, plan in plans.items():
        for run in plan:
            owners.setdefault(run, []).append(name)
    return owners


def write_item(work: tuple[str, str, Scale, bool]) -> dict[str, Any]:
    """Writes the files of an item of a store and says all that was found; nothing if a run of it is missing.

    The last part of `work` says whether kept values stand in for runs that are not in the store.
    """
    root, name, scale, with_kept = work
    store, item = Store(root), Item.parse(name)
    finding = (find_with_kept if with_kept else read_finding)(store, item, scale)
    if finding is None:
        return {}
    files = write_item_files(finding, store)
    return {**describe_finding(finding), "files": [str(path.relative_to(store.root)) for path in files]}


def describe_finding(finding: Finding) -> dict[str, Any]:
    """What was found about an item, as plain values."""
    return {
        "title": finding.item.title,
        "digest": finding.digest,
        "published": compare_published(finding),
        "runs": [run.folder for run in finding.results],
        "claims": [row.as_json() for row in finding.rows],
    }


def _list_names(names: str | Iterable[str] | None) -> list[str]:
    """The names of items; none for all of them."""
    if names is None or isinstance(names, str):
        return [] if names is None else [names]
    if not isinstance(names, Iterable) or not (listed := list(names)):
        raise UsageError(f"names must be an item, a paper or a list of these, not {names!r}; leave it out for all")
    return listed
