"""Runs: anything that takes more than a second. One file is one kind of run.

A run is frozen settings; calling it with a `State` yields `Record`s. Each `yield` is a safe point: the state contains
all that the run needs to continue from there, so that it can be stopped and resumed with the same bits.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import torch
from torch import Tensor, nn

from prunefield.core import seeds
from prunefield.core.display import Displayed
from prunefield.core.errors import UsageError
from prunefield.core.figures import BLUE
from prunefield.core.plugin import Plugin

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

Value = str | int | float | bool | None
UNKNOWN = 0.2  # seconds of a run whose kind has no estimate of its own
PANELS = 4  # values of a result that are drawn


@dataclass(frozen=True, repr=False)
class Record:
    """One row of what a run found: plain values, and tensors by name.

    >>> Record({"step": 3, "loss": 0.25}, {"weights": torch.zeros(8, 40)})
    Record(step=3, loss=0.25, weights: (8, 40))
    """

    values: dict[str, Value]
    tensors: dict[str, Tensor] = field(default_factory=dict)

    def __getitem__(self, key: str) -> Any:
        return self.values[key]

    def __repr__(self) -> str:
        tensors = [f"{name}: {tuple(tensor.shape)}" for name, tensor in self.tensors.items()]
        return f"Record({', '.join([*(f'{key}={value!r:.60}' for key, value in self.values.items()), *tensors])})"


@dataclass(frozen=True, repr=False)
class Result(Displayed):
    """A finished run, as read from the store. `digest` is a hash of all its results.

    >>> Result([Record({"step": 0, "loss": 0.5}), Record({"step": 1, "loss": 0.25})])
    <Result: 2 records of step, loss>
    """

    records: list[Record]
    digest: str = ""

    @property
    def values(self) -> list[dict[str, Value]]:
        """The records without their tensors."""
        return [record.values for record in self.records]

    @property
    def title(self) -> str:
        names = dict.fromkeys(name for record in self.records for name in (*record.values, *record.tensors))
        number = f"{len(self.records)} record{'s' * (len(self.records) != 1)}"
        return f"{number} of {', '.join(names)}" if names else number

    def frame(self) -> "DataFrame":
        """One row per record, without the tensors."""
        from pandas import DataFrame

        return DataFrame(self.values)

    def draw(self, figure: "Figure") -> None:
        """The numbers that were recorded, one panel each, against the first that grows from record to record."""
        table: Any = self.frame().select_dtypes("number")
        x = next((name for name in table if table[name].is_unique and table[name].is_monotonic_increasing), None)
        panels = [name for name in table if name != x][:PANELS]
        if not panels:
            raise UsageError(f"nothing to plot: {self.title}")
        for axes, name in zip(figure.subplots(1, len(panels), squeeze=False).flat, panels, strict=True):
            axes.plot(table.index if x is None else table[x], table[name], ".-", color=BLUE)
            axes.set(xlabel="record" if x is None else x, ylabel=name)


class State:
    """What a run remembers between two safe points: values, tensors, modules and random generators.

    Empty for a new run; filled from the last safe point for one that was interrupted. A run asks for what it needs and
    gets either a new or a saved object, so that starting and resuming are the same code.
    """

    def __init__(
        self,
        saved_values: Mapping[str, Any] | None = None,
        saved_tensors: Mapping[str, Tensor] | None = None,
        *,
        read: "Callable[[Run], Result] | None" = None,
        device: str = "cpu",
    ) -> None:
        self.values: dict[str, Any] = dict(saved_values or {})
        self.tensors: dict[str, Tensor] = {}
        self.device = torch.device(device)
        self.done = 0.0  # the fraction of the run that is behind us, for progress bars
        self._saved = dict(saved_tensors or {})
        self._live: dict[str, Callable[[], Mapping[str, Tensor]]] = {}
        self._read = read

    def read(self, run: "Run") -> Result:
        """The finished run that this one needs."""
        assert self._read is not None, "this state was made without a store"
        return self._read(run)

    def generator(self, seed: int, *names: str | int) -> torch.Generator:
        """The random stream `names` of `seed`, at its saved position."""
        key = "rng:" + ":".join(map(str, (seed, *names)))
        stream = seeds.generator(seed, *names)
        if key in self._saved:
            stream.set_state(self._saved.pop(key))
        self._live[key] = lambda: {key: stream.get_state()}
        return stream

    def tensor(self, name: str, start: Callable[[], Tensor]) -> Tensor:
        """The tensor `name`: the saved one, or `start()`. Change it in place, or assign `tensors[name]`."""
        key = f"tensor:{name}"
        saved = self._saved.pop(key, None)
        self.tensors[name] = (start() if saved is None else saved).to(self.device)
        self._live[key] = lambda: {key: self.tensors[name]}
        return self.tensors[name]

    def module(self, name: str, net: nn.Module) -> nn.Module:
        """Loads the saved parameters and buffers, if any, into `net`, and saves them at safe points from now on."""
        prefix = f"module:{name}:"
        saved = {key[len(prefix) :]: self._saved.pop(key) for key in list(self._saved) if key.startswith(prefix)}
        if saved:
            net.load_state_dict(saved)
        net.to(self.device)
        self._live[prefix] = lambda: {prefix + key: tensor for key, tensor in net.state_dict().items()}
        return net

    def snapshot(self) -> dict[str, Tensor]:
        """All tensors that must be saved here, those that were not asked for yet included."""
        parts = [part() for part in self._live.values()]
        return {**self._saved, **{key: tensor for part in parts for key, tensor in part.items()}}


class Run(Plugin):
    """Frozen settings of a computation. Runs that it depends on are simply fields."""

    family: ClassVar[str] = "runs"

    @abstractmethod
    def __call__(self, state: State) -> Iterator[Record | None]:
        """Computes; yields a record, or None for a safe point without a record."""

    def seconds(self) -> float:
        """Estimated seconds on one core, for plans and progress bars, before the store has measured any of its kind.

        A kind whose runs can take minutes has its own. The others count as `UNKNOWN` seconds, and plans say so.
        """
        return UNKNOWN

    def needs(self) -> "list[Run]":
        """The runs that must be finished before this one."""
        return [plugin for plugin in self.nested() if isinstance(plugin, Run)]

    @property
    def folder(self) -> str:
        """The name of its folder in a store: kind and hash."""
        return f"{self.kind()}-{self.id}"
