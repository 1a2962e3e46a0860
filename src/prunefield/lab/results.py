"""What a study found: a tidy table, a drawing, and why runs failed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prunefield.core.display import Displayed
from prunefield.core.errors import UsageError, show_line, unknown
from prunefield.core.figures import PALETTE, make_figure
from prunefield.core.settings import flatten_settings
from prunefield.lab.store import Store
from prunefield.lab.tables import tabulate_records
from prunefield.runs import Result, Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

LINES, PANELS = 12, 4  # entries of the legend, and panels beside each other
SEEDS = 100  # of which each has a line of its own; the mean is of all


@dataclass(frozen=True, repr=False)
class Results(Displayed):
    """The finished runs of a study: iterate over `(run, result)`; `failures` is `{run: reason}`."""

    store: Store
    runs: Sequence[Run]
    varying: Sequence[str] = ()
    failures: Mapping[Run, str] = field(default_factory=dict)

    @property
    def done(self) -> list[Run]:
        """The runs that are finished."""
        return [run for run in self.runs if self.store.folder(run).is_done]

    @property
    def title(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"{len(self.done)} of {len(self.runs)} runs finished{failed}, in {self.store.root}"

    def __len__(self) -> int:
        return len(self.done)

    def __iter__(self) -> Iterator[tuple[Run, Result]]:
        """Reads one result at a time, with its tensors."""
        return ((run, self.store.folder(run).read()) for run in self.done)

    def __getitem__(self, run: Run) -> Result:
        if not self.store.folder(run).is_done:
            raise UsageError(f"{run.folder} is not finished: {self.failures.get(run, 'it was not executed')}")
        return self.store.folder(run).read()

    def frame(self, *, last: bool = False) -> "DataFrame":
        """One row per record, or per run with `last`: the settings that vary, then the values."""
        found = ((run, self.store.folder(run).read_values()) for run in self.done)
        return tabulate_records(
            ((flatten_settings(run.settings()), rows[-1:] or [{}] if last else rows) for run, rows in found),
            self.varying,
        )

    def save(self, folder: Path | str, name: str = "study", *, parquet: bool = False) -> list[Path]:
        """Writes NAME.csv (one row per run), NAME.svg and, with `parquet`, NAME.parquet; returns their paths."""
        from prunefield.lab.exports import save_study, tabulate_study

        return save_study(self, tabulate_study(self), Path(folder), name, parquet=parquet, chosen_by="folder")

    def overview(self) -> "DataFrame":
        """The last record of each run."""
        return self.frame(last=True)

    def notes(self) -> list[str]:
        return [f"{run.folder} failed: {reason}" for run, reason in self.failures.items()]

    def plot(self, x: str | None = None, y: str | Sequence[str] | None = None) -> "Figure":
        """Values `y`, one panel each, against `x`: a value such as `step`, or a setting, which takes the last records.

        One colour for each combination of the other settings; seeds share it, thin, with their mean as a thick line
        (of more than 100 seeds, the first 100 have a thin one).
        """
        table = self._tabulate()
        x, panels = self._choose_axes(table, x, y)
        width, height = self.size
        size = (max(width, 2.8 * len(panels) + 1.5), height)
        return make_figure(lambda figure: self._draw_panels(figure, table, x, panels), size)

    def draw(self, figure: "Figure") -> None:
        table = self._tabulate()
        self._draw_panels(figure, table, *self._choose_axes(table, None, None))

    def _tabulate(self) -> Any:
        """The table with what is no number as text, since axes take no tuples and groups no missing values."""
        table: Any = self.frame()
        return table.assign(**{key: table[key].map(_show) for key in table if table[key].dtype.kind not in "iuf"})

    def _own(self, table: Any) -> list[str]:
        """The columns of settings."""
        return [key for key in table if str(key).removeprefix("settings.") in self.varying]

    def _choose_axes(self, table: Any, x: str | None, y: str | Sequence[str] | None) -> tuple[str, list[str]]:
        """By default x is the value that grows from record to record, or else a setting; y all other numbers."""
        own, asked = self._own(table), [y] if isinstance(y, str) else list(y or ())
        for name in filter(None, (x, *asked)):
            if name not in table:
                raise unknown("column", name, map(str, table))
        values = [key for key in table.select_dtypes("number") if key not in own]
        growing = [key for key in values if _grows(table, own, key)]
        if x is None:
            settings = sorted(own, key=lambda key: (_is_seed(key), table[key].dtype.kind not in "iuf"))
            x = next((key for key in [*growing, *settings, *values] if key not in asked), "")
        panels = asked or [key for key in values if key not in (x, *growing)] or [key for key in values if key != x]
        if table.empty or not x or not panels:
            raise UsageError(f"nothing to plot: {self.title} (columns: {', '.join(map(str, table)) or 'none'})")
        return x, panels[:PANELS]

    def _draw_panels(self, figure: "Figure", table: Any, x: str, panels: list[str]) -> None:
        own = self._own(table)
        if x in own:
            table = table.groupby(own, sort=False, dropna=False).tail(1)
            table = table.sort_values(x, kind="stable") if table[x].dtype.kind in "iuf" else table
        seeds = [key for key in own if key != x and _is_seed(key)]
        series = _find_distinctive(
            table, [key for key in own if key != x and key not in seeds], [x] if x in own else []
        )
        groups = list(table.groupby(series, sort=False, dropna=False)) if series else [((), table)]
        every: list[Axes] = list(figure.subplots(1, len(panels), squeeze=False).flat)
        for place, (case, group) in enumerate(groups):
            cases = [f"{key} = {_show(value)}" for key, value in zip(series, case, strict=True)]
            look: dict[str, Any] = {
                "color": PALETTE[place % len(PALETTE)],
                "marker": "." if table[x].nunique() < 20 else "",
            }
            lines = [line for _, line in islice(group.groupby(seeds, sort=False), SEEDS)] if seeds else [group]
            for axes, y in zip(every, panels, strict=True):
                for line in lines if len(lines) > 1 else ():
                    axes.plot(line[x], line[y], linewidth=0.6, alpha=0.5, **look)
                mean = group.groupby(x, sort=False)[y].mean()
                axes.plot(mean.index, mean.to_numpy(), linewidth=1.5, label=", ".join(cases), **look)
        for axes, y in zip(every, panels, strict=True):
            axes.set(xlabel=x, ylabel=y)
            if table[x].dtype.kind in "iu":
                axes.locator_params("x", integer=True)
        if series:
            handles, labels = every[0].get_legend_handles_labels()
            more = f"the first {LINES} of {len(groups)}" if len(groups) > LINES else None
            figure.legend(handles[:LINES], labels[:LINES], loc="outside right upper", title=more)


def _show(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else show_line(str(value), 80)


def _find_distinctive(table: Any, keys: Sequence[str], known: Sequence[str]) -> list[str]:
    """The settings that tell runs apart which those before them and the `known` ones do not."""
    found, before = list(known), len(table[known].drop_duplicates()) if known else 1
    for key in keys:
        if (groups := len(table[[*found, key]].drop_duplicates())) > before:
            found, before = [*found, key], groups
    return found[len(known) :]


def _is_seed(key: str) -> bool:
    return key.rpartition(".")[2] == "seed"


def _grows(table: Any, own: Sequence[str], key: str) -> bool:
    """Whether a value grows from record to record in each run, and some run has several: a step or a time."""
    each = table.groupby(list(own), sort=False, dropna=False)[key] if own else table[key]
    is_first = each.cumcount() == 0 if own else table.index == table.index[0]
    return not is_first.all() and bool(table[key].notna().all() and (each.diff()[~is_first] > 0).all())
