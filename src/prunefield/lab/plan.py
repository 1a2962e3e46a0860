"""Plans: the runs that would be executed, which of them are stored, and the time that the others take."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from prunefield.core.display import Displayed
from prunefield.core.settings import flatten_settings
from prunefield.core.terminal import count_things, show_duration
from prunefield.lab.estimates import TimeEstimate, estimate_seconds
from prunefield.lab.examination import name_run
from prunefield.lab.execution import order_runs
from prunefield.lab.listing import distinguish_settings, measure_folder
from prunefield.lab.packs import open_pack
from prunefield.lab.store import Store
from prunefield.runs import UNKNOWN, Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


@dataclass(frozen=True, repr=False)
class Plan(Displayed):
    """What `--dry-run` prints. `find_varying` gives the settings that tell the runs apart, as columns."""

    estimates: dict[Run, TimeEstimate]
    settings: dict[Run, dict[str, Any]]
    names: dict[Run, str]  # of their folders
    stored: frozenset[Run]
    find_varying: Callable[[], Sequence[str]] = tuple
    items: Mapping[Run, Sequence[str]] = field(default_factory=dict)  # those that use each run
    store: Store | None = None

    @property
    def core_hours(self) -> float:
        """The estimated time of what is not stored."""
        return sum(step.seconds for run, step in self.estimates.items() if run not in self.stored) / 3600

    @property
    def title(self) -> str:
        return (
            f"{count_things(len(self.estimates), 'run')}, {len(self.stored)} stored; to do: about "
            f"{show_duration(3600 * self.core_hours)} of one core ({self.core_hours:.2f} core-hours)"
        )

    def frame(self) -> "DataFrame":
        """One row per run: kind, what varies, `stored` or `to do`, seconds, and from how many runs they are learnt."""
        from pandas import DataFrame

        rows, varying = [], self.find_varying()
        for run, step in self.estimates.items():
            flat = flatten_settings(self.settings[run]) if varying else {}
            rows.append(
                {"run": self.names[run], "kind": run.kind()}
                | {key: flat.get(key) for key in varying}
                | {"state": self.state(run), "seconds": step.seconds, "learnt": step.learnt}
            )
        return DataFrame(rows, columns=["run", "kind", *varying, "state", "seconds", "learnt"])

    def describe(self) -> list[dict[str, Any]]:
        """One row for each run, for people: kind, seed, what varies, items; date and bytes if it is stored."""
        told = distinguish_settings(list(self.settings.values()))
        rows, stored = [], {self.names[run] for run in self.stored}
        for (run, step), name, known in zip(self.estimates.items(), self.names.values(), told, strict=True):
            state, items = "stored" if name in stored else "to do", list(self.items.get(run, ())) if self.items else []
            kept = self.store and state == "stored" and measure_folder(self.store[name])
            row = {"run": name, "kind": run.kind(), **known, "items": items, **(kept or {"date": None, "bytes": None})}
            rows.append(row | {"state": state, "seconds": step.seconds, "learnt": step.learnt})
        return rows

    def as_json(self) -> dict[str, Any]:
        rows = self.describe()
        for row, table in zip(rows, self.settings.values(), strict=True):
            row["settings"] = table
        return {"runs": rows, "core_hours": self.core_hours}

    def notes(self) -> Sequence[str]:
        to_do = [(run, step) for run, step in self.estimates.items() if run not in self.stored]
        learnt = sorted({run.kind() for run, step in to_do if step.learnt})
        unknown = sorted({run.kind() for run, step in to_do if not step.learnt and type(run).seconds is Run.seconds})
        notes = []
        if learnt:
            notes.append(f"the times of {', '.join(learnt)} are estimated from finished runs in this store")
        if unknown:
            notes.append(f"{', '.join(unknown)}: time unknown until one has been run; each counts as {UNKNOWN} s")
        return notes

    def draw(self, figure: "Figure") -> None:
        """Estimated minutes of one core for each kind, stored and to do."""
        table = self.frame()
        minutes = table.pivot_table(index="kind", columns="state", values="seconds", aggfunc="sum").fillna(0) / 60
        minutes.plot.barh(stacked=True, ax=figure.subplots(), xlabel="minutes of one core", ylabel="")

    def with_pack(self, path: Path | str) -> "Plan":
        """The plan if the runs in a pack are taken: they count as stored."""
        with open_pack(path) as pack:
            taken = frozenset(run for run, name in self.names.items() if name in pack.digests)
        return replace(self, stored=self.stored | taken)

    def state(self, run: Run) -> Literal["stored", "to do"]:
        return "stored" if run in self.stored else "to do"


def make_plan(
    runs: Iterable[Run],
    store: Store | None = None,
    *,
    find_varying: Callable[[], Sequence[str]] = tuple,
    items: Mapping[Run, Sequence[str]] | None = None,
    device: str = "cpu",
) -> Plan:
    """The plan of runs and of all that they need, in the order of execution."""
    ordered = order_runs(runs)
    settings = {run: run.settings() for run in ordered}  # once: there may be hundreds of thousands
    names = {run: name_run(table) for run, table in settings.items()}
    here = set() if store is None else set(store.names())  # quicker than to ask for each whether it is there
    stored = frozenset(run for run, name in names.items() if name in here and store and store[name].is_done)
    estimates = estimate_seconds(ordered, store, device=device)
    return Plan(estimates, settings, names, stored, find_varying, items or {}, store)
