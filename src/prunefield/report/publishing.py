"""Published results: what was found at a scale, shipped with the package as one JSON file per paper and scale.

The files are `papers/PAPER/published/SCALE.json`. They hold no date, and the same results give the same bytes, so that
a difference between two of them shows what has changed. `make publish` writes them and the tables of the docs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from prunefield.core.errors import StoreError, list_names
from prunefield.core.files import make_folder, store_option, write_whole
from prunefield.lab.execution import order_runs
from prunefield.lab.store import Store
from prunefield.papers import SCALES, Item, Scale, Status
from prunefield.report.kept import VERSIONS, KeptRun, keep_runs, read_kept_runs, write_kept_runs
from prunefield.report.ledger import Finding, find_items, load_paper, read_finding
from prunefield.report.staleness import find_digests, find_stale
from prunefield.runs import Result, Run


class Entry(BaseModel):
    """A part of the file; keys that are not listed here are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class PublishedNull(Entry):
    """What the check of a claim found on the table without the effect."""

    status: Status
    observed: str


class PublishedClaim(Entry):
    """A claim of an item with its verdict."""

    text: str
    where: str
    expected: str
    decided_at: Scale
    status: Status
    observed: str
    n: int
    note: str
    null: PublishedNull | None


class PublishedItem(Entry):
    """What was found for an item at a scale: the digests of its runs, how long they took in all, and its claims.

    `missing` of its runs were not there yet, which its claims take into account.
    """

    item: str
    scale: Scale
    title: str
    digest: str
    versions: dict[str, str]
    seconds: float
    runs: dict[str, str]
    missing: int = Field(default=0, exclude_if=lambda number: not number)
    claims: tuple[PublishedClaim, ...]

    def as_json(self) -> dict[str, Any]:
        """The same as a table, with each claim as the ledger shows it (`Row.as_json`)."""
        table = self.model_dump()
        source = {"item": self.item, "scale": self.scale}
        return {**table, "claims": [source | claim for claim in table["claims"]]}


class PublishedFile(Entry):
    """What was found for a paper at a scale, item by item."""

    format: Literal[1] = 1
    items: tuple[PublishedItem, ...]


def publish(store: Store, chosen: Sequence[Item], scale: Scale) -> list[Path]:
    """Writes what a store has of the chosen items at a scale, and returns the files.

    Values of the finished runs of an item that is judged by values alone are kept, also where others are missing; it is
    judged as soon as enough are stored or kept (`choose_runs`). An item for which there are too few, or fewer than were
    published, keeps the entry it had; entries of items that no longer exist are dropped.
    """
    files = []
    for paper in sorted({_paper_of(item.kind()) for item in chosen}):
        before, entries, known = read_published(paper, scale), [], find_items([paper])
        own = [item for item in known if scale in item.scales]  # the results of others are those of a smaller scale
        lasting = order_runs(run for item in own if item.from_values for run in item.plan(scale))
        names = {run.folder for run in lasting}
        runs = {name: run for name, run in read_kept_runs(paper, scale).items() if name in names}
        new = keep_runs(store, [item for item in own if item in chosen and item.from_values], scale)
        stale = find_stale(lasting, runs, {name: run.digest for name, run in new.items()})
        changed = [name for name, run in new.items() if name in runs and runs[name].digest != run.digest]
        users = [
            item
            for item in own
            if item.from_values and {run.folder for run in order_runs(item.plan(scale))} & {*stale, *changed}
        ]
        if stale or any(item not in chosen for item in users):
            raise _explain_mixture(store, stale or changed, users, scale)
        runs |= new
        for item in own:
            entry, old = _make_entry(store, item, scale, runs) if item in chosen else None, before.get(item.kind())
            entries.append(old if entry is None or (old and entry.missing > old.missing) else entry)
        if runs:
            files.append(write_kept_runs(paper, scale, runs))
        if any(entries):
            path = locate_published(paper, scale)
            make_folder(path.parent)
            text = PublishedFile(items=tuple(filter(None, entries))).model_dump_json(indent=1)
            write_whole(path, (text + "\n").encode())
            files.append(path)
    return files


def _explain_mixture(store: Store, names: Sequence[str], users: Sequence[Item], scale: Scale) -> StoreError:
    """Values that stay published, or verdicts on them, would not go with the new results."""
    items = " ".join(item.kind() for item in users)
    return StoreError(
        f"{list_names(names)}: published from other results than {store.root} has; compute these there, too: "
        f"prunefield reproduce {items} --scale {scale} --unpublished{store_option(store.root)}; then publish together: "
        f"{items}"
    )


def read_published(paper: str, scale: Scale) -> dict[str, PublishedItem]:
    """The published items of a paper at a scale, by name; none if there is no such file."""
    path = locate_published(paper, scale)
    try:
        entries = PublishedFile.model_validate_json(path.read_bytes()).items
        if foreign := [entry for entry in entries if (_paper_of(entry.item), entry.scale) != (paper, scale)]:
            raise ValueError(f"it has {foreign[0].item} at {foreign[0].scale} scale")
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise StoreError(
            f"{path} is not a file of published results ({_explain(error)}); "
            "install prunefield again, or remove the file and run `make publish`"
        ) from None
    return {entry.item: entry for entry in entries}


def find_published(item: Item, scale: Scale | None = None) -> PublishedItem | None:
    """What is published of an item at a scale, or at the largest for which no run is missing; None if nothing is.

    If runs are missing at all scales, the largest is meant.
    """
    scales = reversed(item.scales) if scale is None else (item.own_scale(scale),)
    found = [read_published(_paper_of(item.kind()), candidate).get(item.kind()) for candidate in scales]
    return min(filter(None, found), key=lambda entry: entry.missing > 0, default=None)


def list_published(item: Item, scale: Scale | None = None) -> list[PublishedItem]:
    """What is published of an item: the entry of `find_published`, then those of its other scales, the largest first,
    with the claims that no entry before has, such as those on data that only laptop scale has; or one scale alone.
    """
    found, seen, entries = find_published(item, scale), set[str](), list[PublishedItem]()
    others = [] if scale else [find_published(item, other) for other in reversed(item.scales)]
    for entry in filter(None, [found, *others]):
        if new := tuple(claim for claim in entry.claims if claim.text not in seen):
            entries.append(entry.model_copy(update={"claims": new}))
            seen |= {claim.text for claim in new}
    return entries


def compare_published(finding: Finding) -> Literal["same", "differs", "kept"] | None:
    """Whether a finding has the published digest; `kept` if it is made of published values alone.

    None if nothing is published of the item at its scale, or if more or fewer runs are, with the same results.
    """
    published = find_published(finding.item, finding.scale)
    own = {run.folder: result.digest for run, result in finding.results.items()}
    if published is None or published.digest == finding.digest:
        return published and ("kept" if own and finding.kept == len(own) else "same")
    is_part = own.keys() != published.runs.keys()
    return None if is_part and all(published.runs.get(name, own[name]) == own[name] for name in own) else "differs"


def locate_published(paper: str, scale: Scale) -> Path:
    """The file of a paper at a scale, in the folder of its package."""
    return Path(load_paper(paper).__path__[0]) / "published" / f"{scale}.json"


def _paper_of(name: str) -> str:
    return name.partition("/")[0]


def _explain(error: Exception) -> str:
    """The first problem of a file, in one line."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))


def judge_kept(item: Item, scale: Scale, runs: Mapping[str, KeptRun]) -> Finding | None:
    """The finding of an item from kept values; None if its table needs tensors, or a run that it cannot do without."""
    needed = {run: runs.get(run.folder) for run in order_runs(item.plan(scale))}
    return _judge(item, scale, {run: kept.as_result() if kept else None for run, kept in needed.items()})


def read_with_kept(store: Store, item: Item, scale: Scale) -> Finding | None:
    """The finding of an item from a store and kept values of runs that are not in it; None if runs are missing.

    Kept values of what measures another result than the store's are left out; if all runs are kept, they are preferred.
    """
    kept = read_kept_runs(_paper_of(item.kind()), item.own_scale(scale)) if item.from_values else {}
    plan = order_runs(item.plan(scale))
    digests = find_digests(store, plan)
    if stale := find_stale(plan, kept, digests):
        if all(run.folder in kept for run in plan):
            digests = {}
        else:
            kept = {name: run for name, run in kept.items() if name not in stale}
    found: dict[Run, Result | None] = {}
    for run in plan:
        shipped = kept.get(run.folder)
        found[run] = store.folder(run).read() if run.folder in digests else shipped.as_result() if shipped else None
    finding = _judge(item, scale, found)
    return finding and replace(finding, kept=sum(run.folder not in digests for run in finding.results))


def find_with_kept(store: Store, item: Item, scale: Scale | None = None) -> Finding | None:
    """The finding of an item at a scale, or at the largest that is complete, from a store and kept values.

    If runs are missing at all scales, the largest for which there are runs is meant.
    """
    found = [read_finding(store, item, scale)]
    found += [read_with_kept(store, item, own) for own in ((scale,) if scale else item.scales)]
    complete = [finding for finding in found if finding and (finding.results or not item.from_values)]

    def rank(finding: Finding) -> tuple[bool, int, int]:
        return not finding.missing, SCALES.index(finding.scale), -finding.missing

    return max(complete, key=rank, default=None)


def describe_makers(store: Store, finding: Finding) -> list[dict[str, Any]]:
    """What made each run of a finding, and in how many seconds: from the store, else from the kept values."""
    digests = find_digests(store, finding.results)
    own = [digests.get(run.folder) == result.digest for run, result in finding.results.items()]
    kept = {} if all(own) else read_kept_runs(_paper_of(finding.name), finding.item.own_scale(finding.scale))
    shipped = {name: {**run.versions, "seconds": run.seconds} for name, run in kept.items()}
    return [
        store.folder(run).table("made") if is_own else shipped[run.folder]
        for run, is_own in zip(finding.results, own, strict=True)
    ]


def _judge(item: Item, scale: Scale, results: Mapping[Run, Result | None]) -> Finding | None:
    found = {run: result for run, result in results.items() if result}
    chosen = item.choose_runs(list(results), list(found), item.own_scale(scale)) if item.from_values else None
    if chosen is None:
        return None
    return Finding(item, scale, {run: found[run] for run in chosen}, len(results) - len(chosen))


def _make_entry(store: Store, item: Item, scale: Scale, runs: Mapping[str, KeptRun]) -> PublishedItem | None:
    """What is published of an item: from kept values, which include the store's, where it is judged by values alone."""
    finding = judge_kept(item, scale, runs) if item.from_values else read_finding(store, item, scale)
    if finding is None:
        return None
    known = runs if item.from_values else keep_runs(store, [item], scale)
    made = [known[run.folder] for run in finding.results]
    versions = {name: {one.versions[name] for one in made if name in one.versions} for name in VERSIONS}
    digests = {run.folder: result.digest for run, result in finding.results.items()}
    return PublishedItem(
        item=finding.name,
        scale=finding.scale,
        title=finding.item.title,
        digest=finding.digest,
        versions={name: "; ".join(sorted(those)) for name, those in versions.items() if those},
        seconds=round(sum(one.seconds for one in made), 1),
        runs=dict(sorted(digests.items())),
        missing=finding.missing,
        claims=tuple(PublishedClaim.model_validate(row.as_json()) for row in finding.rows),
    )
