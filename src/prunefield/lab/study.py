"""Studies: the settings of a run, and optionally a sweep over values of some of them; every combination is one run.

    kind = "imp"
    rounds = 6
    task = { kind = "leaves" }

    [sweep]                      # only for `prunefield sweep`; `lab/sweeps.py` has all its words
    seed = [0, 1, 2]
    "task.categories" = [4, 10]

The same in Python: `Study({"kind": "imp", …}, sweep={"seed": range(3), …})`.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from prunefield.core.errors import UsageError, unknown
from prunefield.core.plugin import PLAIN, Plugin
from prunefield.core.settings import (
    change_setting,
    count_dots,
    flatten_settings,
    has_setting,
    put_setting,
    read_settings,
    read_toml,
)
from prunefield.core.sizes import read_start
from prunefield.engines import Engine, choose_engine
from prunefield.lab.bars import show_bar
from prunefield.lab.conditions import check_device
from prunefield.lab.execution import carry_out, order_runs, warn
from prunefield.lab.expressions import Condition
from prunefield.lab.joining import take_runs
from prunefield.lab.plan import Plan, make_plan
from prunefield.lab.results import Results
from prunefield.lab.store import Store, find_store, open_store, read_store
from prunefield.lab.sweeps import Sweep, drop_key
from prunefield.lab.tables import find_varying
from prunefield.loggers import Logger
from prunefield.runs import Run

MOST = 1_000_000  # combinations of which some are skipped
LONGEST = 4_000_000  # bytes of a study: a list of half a million seeds


class Study:
    """Runs with settings in common: one for each combination of the values in `sweep`.

    A key of `sweep` is a setting with a list of values; `zip`, `random`, `sobol` and `skip` are as in `lab/sweeps.py`.

    `settings` is a table with the key `kind`, or text such as `neuron,task=nlgp,steps=500`; a dot in a key leads into
    nested settings, and plug-ins may be given instead of their settings.

    >>> study = Study({"kind": "neuron", "task": "nlgp"}, sweep={"seed": range(3), "task.g": [0.01, 3.0]})
    >>> study
    <Study: 6 runs of neuron; sweep: seed (3), task.g (2)>
    >>> study.runs[1].task.g
    3.0
    """

    def __init__(
        self,
        settings: Mapping[str, Any] | str | Run,
        sweep: Mapping[str, Any] | None = None,
        *,
        source: str = "",
    ) -> None:
        self.source = source  # the file that it was read from
        table = read_settings(settings) if isinstance(settings, str) else _simplify(settings)
        if not isinstance(table, dict):
            raise UsageError(f"a study needs a table of settings with the key 'kind', not {repr(settings)[:100]}")
        if not isinstance(sweep, Mapping | None):
            raise UsageError(self._place(f"sweep takes a table of lists, such as seed = [0, 1, 2], not {sweep!r:.100}"))
        try:
            self.sweep = Sweep(_simplify(sweep or {}))
            self._skip = Condition(self.sweep.skip) if self.sweep.skip else None
            if self._skip and self.count > MOST:
                raise UsageError(f"a sweep with `skip` may have at most {MOST:,} combinations, as each must be checked")
        except UsageError as error:
            raise UsageError(self._place(str(error))) from None
        self.settings: dict[str, Any] = {}
        for key in sorted(table, key=count_dots):
            _check_kept(key, self.sweep.keys)
            put_setting(self.settings, key, table[key])
        if not isinstance(settings, Run):  # which has every setting
            self._check_fixed(settings if isinstance(settings, Mapping) else table)
        first = next(iter(self), None)  # a wrong key is reported here, not after an hour
        if first is None:
            raise UsageError(self._place(f"the sweep skips every combination: {self.sweep.skip}"))
        self._check_names(first)
        self.kinds = " and ".join(dict.fromkeys(map(str, self.sweep.find_values("kind") or [first.kind()])))

    @classmethod
    def read(cls, path: Path | str, changes: Iterable[str] = ()) -> "Study":
        """The study in a TOML file, with changes such as `task.g=3`; one of a swept key ends its sweep."""
        content = read_start(Path(path), LONGEST, "a study")
        try:
            table = read_toml(content.decode("utf-8-sig"))  # some editors begin a file with a mark
        except ValueError as error:
            raise UsageError(f"{path} is not TOML: {error}") from None
        sweep = table.pop("sweep", {})
        for text in sorted(changes, key=count_dots):
            key = change_setting(table, text)
            if isinstance(sweep, dict):
                drop_key(sweep, key)
                _check_kept(key, sweep)
        return cls(table, sweep, source=str(path))

    def __len__(self) -> int:
        return self.count

    @property
    def count(self) -> int:
        """How many combinations the sweep has, those included that it skips. `len` has a limit, this does not."""
        return self.sweep.count

    def __iter__(self) -> Iterator[Run]:
        order = sorted(self.sweep.keys, key=count_dots)
        for point in self.sweep:
            settings = dict(self.settings)
            try:
                for key in order:
                    put_setting(settings, key, point[key])
                if self._skip is None or not self._is_skipped(settings, self._skip):
                    yield Run.parse(settings)
            except UsageError as error:
                raise UsageError(self._place(str(error))) from None

    def _is_skipped(self, settings: dict[str, Any], skip: Condition) -> bool:
        """Decided by what the study says where that is enough: a combination that is skipped need not be valid."""
        flat = flatten_settings(settings)
        return skip(flat if skip.names <= flat.keys() else flatten_settings(Run.parse(settings).settings()))

    def _check_fixed(self, table: Mapping[str, Any]) -> None:
        """Refuses a setting that has a value of its own and is swept as well: that value would have no effect."""
        given: dict[str, Any] = {}
        for key in sorted(map(str, table), key=count_dots):
            put_setting(given, key, {} if isinstance(table[key], Plugin) else table[key])  # a plug-in has all settings
        if twice := next((key for key in self.sweep.keys if has_setting(given, key)), None):
            raise UsageError(
                self._place(f"{twice} has a value outside of the sweep, and is swept as well; remove one of the two")
            )

    def _check_names(self, first: Run) -> None:
        """Refuses a condition on a setting that no run has; with a sweep over kinds that is hard to know."""
        known = {*flatten_settings(first.settings()), *self.sweep.keys}
        wrong = sorted(self._skip.names - known) if self._skip else []
        if wrong and len({run.kind() for run in self}) == 1:
            every = {key for run in self for key in flatten_settings(run.settings())}
            if absent := [name for name in wrong if name not in every]:
                raise UsageError(self._place(f"skip: {unknown('setting', absent[0], sorted(every))}"))

    @cached_property
    def runs(self) -> list[Run]:
        """All runs, each once, in the order of the sweep."""
        return list(self._counts)

    @cached_property
    def _counts(self) -> Counter[Run]:
        """How many points of the sweep each run has."""
        return Counter(self)

    @property
    def notes(self) -> list[str]:
        """One line if points of the sweep are equal, so that there are fewer runs than points."""
        points, runs = self._counts.total(), len(self._counts)
        line = f"repeated points in the sweep: {points - runs:,} of {points:,}; each run is executed once"
        return [line] if runs < points else []

    @cached_property
    def varying(self) -> list[str]:
        """The settings that differ between runs, with dotted keys, in the order of the sweep."""
        found = find_varying([flatten_settings(run.settings()) for run in self.runs])
        order = {key: place for place, key in enumerate(self.sweep.keys)}
        swept = ([place for own, place in order.items() if f"{key}.".startswith(f"{own}.")] for key in found)
        return [key for _, key in sorted(zip(swept, found, strict=True), key=lambda pair: pair[0] or [len(order)])]

    def plan(self, store: Store | Path | str | None = None, *, device: str = "cpu") -> Plan:
        """What `run` would execute, what is stored already, and the time of the rest; no store is created."""
        return make_plan(
            self.runs, find_store(store), find_varying=lambda: self.varying, device=device, remarks=self.notes
        )

    def results(self, store: Store | Path | str | None = None) -> Results:
        """What is stored of this study, without executing anything."""
        return Results(read_store(store), self.runs, self.varying)

    def run(
        self,
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
    ) -> Results:
        """Executes what is not stored yet, `jobs` runs at a time, and returns the results of all runs.

        `engine` is where: `local`, `ray,address=auto` or `slurm,partition=NAME`. Interrupt it at any time: the next
        call continues from the last safe points. A run whose process, job or machine dies is restarted `retry` times
        (by default 0 on `local`, 3 elsewhere). `progress` shows a bar on stderr; `report` gets a line for each retry,
        and one if points of the sweep are equal. `log` is where the numbers of every record are also written:
        `tensorboard`, `wandb`, or as in `tensorboard,folder=DIR`. Runs are taken from `pack`, a file that `prunefield
        runs pack` wrote, after they were checked.
        """
        chosen, runs = choose_engine(engine, jobs, retry), self.runs
        if chosen.is_here:
            check_device(device)
        opened = open_store(store)
        if pack is not None:
            take_runs(opened, pack, order_runs(runs), report)
        for note in self.notes:
            report(note)
        with show_bar(Path(self.source).name or self.kinds, shown=progress) as tell:
            failures = carry_out(opened, runs, chosen, device=device, tell=tell, report=report, log=log)
        return Results(opened, runs, self.varying, failures)

    def __repr__(self) -> str:
        swept = self.sweep.describe()
        most = "at most " * bool(self.sweep.skip)
        count = f"{most}{self.count:,} run{'s' * (self.count != 1)}"
        return f"<Study: {count} of {self.kinds}{f'; sweep: {swept}' * bool(swept)}>"

    def _place(self, message: str) -> str:
        return f"{self.source}: {message}" if self.source else message


def _check_kept(key: str, sweep: Iterable[str]) -> None:
    """Refuses a setting inside of a table that the sweep replaces, as it would have no effect."""
    for table in sweep:
        if key.startswith(f"{table}."):
            raise UsageError(
                f"{key} would have no effect, as the sweep replaces {table}; write it there, as in nlgp,g=3"
            )


def _simplify(value: Any) -> Any:
    """Plug-ins, tables, ranges, arrays and their numbers as plain settings."""
    if isinstance(value, PLAIN):
        return value
    if isinstance(value, Plugin):
        return value.settings()
    if isinstance(value, Mapping):
        return {str(key): _simplify(item) for key, item in value.items()}
    if isinstance(value, list | tuple | range | set | frozenset):
        return [_simplify(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value  # of NumPy, pandas or torch
