"""Plans: the runs that would be executed, which of them are stored, and the time that the others take."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from prunefield.core.display import Displayed
from prunefield.core.settings import flatten_settings
from prunefield.core.terminal import count_things, show_duration
from prunefield.lab.estimates import estimate_seconds
from prunefield.lab.examination import name_run
from prunefield.lab.execution import order_runs
from prunefield.lab.listing import distinguish_settings, measure_finished
from prunefield.lab.packs import open_pack
from prunefield.lab.store import Store
from prunefield.runs import UNKNOWN, Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

NOT_STORED = {"date": None, "bytes": None}


class Step(NamedTuple):
    """One run of a plan."""

    run: Run
    name: str  # of its folder
    settings: dict[str, Any]
    seconds: float  # estimated, on one core
    learnt: int  # from how many measured runs
    is_stored: bool

    @property
    def state(self) -> Literal["stored", "to do"]:
        return "stored" if self.is_stored else "to do"


@dataclass(frozen=True, repr=False)
class Plan(Displayed):
    """What `--dry-run` prints. `find_varying` gives the settings that tell the runs apart, as columns."""

    steps: list[Step]
    find_varying: Callable[[], Sequence[str]] = tuple
    items: Mapping[Run, Sequence[str]] = field(default_factory=dict)  # those that use each run
    store: Store | None = None
    remarks: Sequence[str] = ()  # notes of whoever made the plan

    @property
    def core_hours(self) -> float:
        """The estimated time of what is not stored."""
        return sum([step.seconds for step in self.steps if not step.is_stored]) / 3600

    @property
    def title(self) -> str:
        hours, stored = self.core_hours, sum(step.is_stored for step in self.steps)
        return (
            f"{count_things(len(self.steps), 'run')}, {stored} stored; to do: about "
            f"{show_duration(3600 * hours)} of one core ({hours:.2f} core-hours)"
        )

    def frame(self) -> "DataFrame":
        """One row per run: kind, what varies, `stored` or `to do`, seconds, and from how many runs they are learnt."""
        from pandas import DataFrame

        rows, varying = [], self.find_varying()
        for step in self.steps:
            flat = flatten_settings(step.settings) if varying else {}
            rows.append(
                {"run": step.name, "kind": step.run.kind()}
                | {key: flat.get(key) for key in varying}
                | {"state": step.state, "seconds": step.seconds, "learnt": step.learnt}
            )
        return DataFrame(rows, columns=["run", "kind", *varying, "state", "seconds", "learnt"])

    def describe(self) -> list[dict[str, Any]]:
        """One row for each run, for people: kind, seed, what varies, items; date and bytes if it is stored."""
        told = distinguish_settings([step.settings for step in self.steps])
        return [
            {
                "run": step.name,
                "kind": step.run.kind(),
                **known,
                "items": list(self.items.get(step.run, ())) if self.items else [],
                **(measure_finished(self.store[step.name]) if self.store and step.is_stored else NOT_STORED),
                "state": step.state,
                "seconds": step.seconds,
                "learnt": step.learnt,
            }
            for step, known in zip(self.steps, told, strict=True)
        ]

    def as_json(self) -> dict[str, Any]:
        rows = self.describe()
        for row, step in zip(rows, self.steps, strict=True):
            row["settings"] = step.settings
        return {"runs": rows, "core_hours": self.core_hours}

    def notes(self) -> Sequence[str]:
        to_do = [step for step in self.steps if not step.is_stored]
        learnt = sorted({step.run.kind() for step in to_do if step.learnt})
        guessed = [step.run for step in to_do if not step.learnt]
        unknown = sorted({run.kind() for run in guessed if type(run).seconds is Run.seconds})
        notes = [*self.remarks]
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
            steps = [step._replace(is_stored=step.is_stored or step.name in pack.digests) for step in self.steps]
        return replace(self, steps=steps)


def make_plan(
    runs: Iterable[Run],
    store: Store | None = None,
    *,
    find_varying: Callable[[], Sequence[str]] = tuple,
    items: Mapping[Run, Sequence[str]] | None = None,
    device: str = "cpu",
    remarks: Sequence[str] = (),
) -> Plan:
    """The plan of runs and of all that they need, in the order of execution."""
    ordered = order_runs(runs)
    here = [] if store is None else store.names()
    among = frozenset(here)  # quicker than to ask for each whether it is there
    estimates = estimate_seconds(ordered, store, device=device, names=here)
    steps = []
    for run, (seconds, learnt) in zip(ordered, estimates, strict=True):
        settings = run.settings()
        name = name_run(settings)
        is_stored = name in among and store is not None and store[name].is_done
        steps.append(Step(run, name, settings, seconds, learnt, is_stored))
    return Plan(steps, find_varying, items or {}, store, remarks)
