"""The ledger: every claim of every item with what the paper says, what was observed and the verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from prunefield.core.errors import unknown
from prunefield.core.figures import fix_layout, make_figure
from prunefield.core.files import checksum
from prunefield.core.names import modules
from prunefield.lab.execution import order_runs
from prunefield.lab.store import Store
from prunefield.papers import SCALES, Claim, Item, Scale, Status, Verdict
from prunefield.runs import Result, Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


@dataclass(frozen=True)
class Row:
    """One claim and its verdict; `null` is the verdict of the same check on data without the effect."""

    item: str
    scale: Scale
    claim: Claim
    verdict: Verdict
    null: Verdict | None

    def as_json(self) -> dict[str, Any]:
        claim = {key: getattr(self.claim, key) for key in ("text", "where", "expected", "decided_at", "highlight")}
        null = None if self.null is None else asdict(self.null)
        return {"item": self.item, "scale": self.scale, **claim, **asdict(self.verdict), "null": null}


@dataclass(frozen=True)
class Finding:
    """An item whose runs are in the store, at one scale; `missing` of them are not, where the item can do without.

    `kept` of the results are not from the store but from published values.
    """

    item: Item
    scale: Scale
    results: Mapping[Run, Result]
    missing: int = 0
    kept: int = 0

    @property
    def name(self) -> str:
        return self.item.kind()

    @cached_property
    def table(self) -> "DataFrame":
        return self.item.table(self.results)

    def draw(self, *, with_footer: bool = True) -> "Figure":
        """The drawing; laid out once, so that all files of it are alike."""
        item, table, results = self.item, self.table, self.results
        footer = self.describe() if with_footer else ""
        figure = make_figure(lambda figure: item.draw(figure, table, results), item.size, footer)
        fix_layout(figure)
        return figure

    def describe(self) -> str:
        """The line below the drawing: item, scale, seeds, and how many runs and rows it rests on."""
        return f"prunefield · {self.name} · {self.scale} scale · {self.count_parts(' · ')}"

    def count_parts(self, between: str = "; ") -> str:
        """The seeds, and how many runs and rows there are."""
        there = f"{len(self.results)} of {len(self.results) + self.missing}" if self.missing else len(self.results)
        return f"{self.show_seeds()}{between}{there} run{'s' * (len(self.results) != 1)}, n = {len(self.table):,} rows"

    def show_seeds(self) -> str:
        """Every seed anywhere in the settings of the runs."""
        return show_seeds({seed for run in self.results for seed in find_seeds(run.settings())})

    @cached_property
    def rows(self) -> list[Row]:
        return [
            Row(self.name, self.scale, claim, claim.judge(self.table, self.scale), claim.judge_null(self.table))
            for claim in self.item.claims
            if claim.concerns(self.table)
        ]

    @property
    def digest(self) -> str:
        """A hash of all results of the runs: equal digests mean equal bits."""
        return checksum("".join(sorted(result.digest for result in self.results.values())).encode())


def find_seeds(settings: Any) -> set[int]:
    """Every seed anywhere in the settings of a run.

    >>> find_seeds({"seed": 2, "of": {"seed": 0, "task": {"g": 3}}})
    {0, 2}
    """
    if isinstance(settings, list):
        return {seed for item in settings for seed in find_seeds(item)}
    if not isinstance(settings, dict):
        return set()
    inner = {seed for value in settings.values() for seed in find_seeds(value)}
    return inner | ({settings["seed"]} if isinstance(settings.get("seed"), int) else set())


def show_seeds(seeds: set[int]) -> str:
    """Seeds as a person says them.

    >>> show_seeds({0}), show_seeds({0, 1, 2, 7, 42, 43}), show_seeds(set())
    ('seed 0', 'seeds 0 to 2, 7, 42, 43', 'no seed')
    """
    parts: list[list[int]] = []
    for seed in sorted(seeds):
        if parts and parts[-1][-1] == seed - 1:
            parts[-1].append(seed)
        else:
            parts.append([seed])
    shown = [f"{part[0]} to {part[-1]}" if len(part) > 2 else ", ".join(map(str, part)) for part in parts]
    return f"seed{'s' * (len(seeds) > 1)} {', '.join(shown)}" if seeds else "no seed"


def find_items(names: list[str] | tuple[str, ...] = ()) -> list[Item]:
    """The items with names such as `lufkin2024` (all of a paper) or `redman2025/fig4`; without names, all items."""
    known = list(modules(Item.family))
    papers = sorted({name.partition("/")[0] for name in known})
    chosen: list[str] = []
    for name in names or papers:
        found = [other for other in known if name in (other, other.partition("/")[0])]
        if not found:
            raise unknown("item", name, papers + known, see="prunefield list items")
        chosen += [other for other in found if other not in chosen]
    return [Item.parse(name) for name in chosen]


def load_paper(name: str) -> ModuleType:
    """The package of a paper, ours or another author's: it has TITLE and BIBTEX."""
    packages = {kind.partition("/")[0]: module.rpartition(".")[0] for kind, module in modules(Item.family).items()}
    if name not in packages:
        raise unknown("paper", name, packages)
    return import_module(packages[name])


def read_finding(store: Store, item: Item, scale: Scale | None = None) -> Finding | None:
    """The finding of an item at a scale, or at the largest scale that is complete in the store; None if none is.

    Some items can be judged while runs are missing (`choose_runs`), from one run on: that counts if no scale is
    complete. Of several scales with the same runs, the smallest is meant.
    """
    chosen = choose_scale(store, item, scale)
    if chosen is None:
        return None
    own, runs, missing = chosen
    return Finding(item, own, {run: store.folder(run).read() for run in runs}, missing)


def choose_scale(store: Store, item: Item, scale: Scale | None = None) -> tuple[Scale, Sequence[Run], int] | None:
    """The scale at which an item is judged, the runs by which it is, and how many are missing; nothing is read."""
    part = None
    for candidate in (scale,) if scale else reversed(item.scales):
        runs = order_runs(item.plan(candidate))
        done = [run for run in runs if store.folder(run).is_done]
        chosen = item.choose_runs(runs, done, item.own_scale(candidate))
        if chosen is None or (runs and not chosen) or (part and len(chosen) < len(runs)):
            continue
        same: list[Scale] = [own for own in item.scales if item.plan(own) == item.plan(candidate)]
        part = scale or same[0], chosen, len(runs) - len(chosen)
        if len(chosen) == len(runs):
            break
    return part


def explain_null(status: Status) -> str:
    """What the verdict of a check on data without the effect says about the check.

    >>> explain_null("not reproduced"), explain_null("reproduced")
    ('fails, as it must', 'passes: the check proves nothing')
    """
    if status == "not testable at this scale":
        return status
    return "fails, as it must" if status == "not reproduced" else "passes: the check proves nothing"


def check_scale(scale: str) -> Scale:
    """The scale of this name."""
    if scale not in SCALES:
        raise unknown("scale", scale, SCALES)
    return scale
