"""What Tables 1 to 4 of bar2023 share: printed and measured accuracies in one table, compared in pairs."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any, ClassVar

from matplotlib.figure import Figure
from numpy.random import default_rng
from pandas import DataFrame, concat

from prunefield.papers import Claim, Frame, Item, Scale, gather, replace_rows
from prunefield.papers._kit import Row
from prunefield.papers.bar2023._comparisons import Comparison, judge_runs
from prunefield.papers.bar2023._experiments import SETTINGS, TINY_SETTINGS, places
from prunefield.papers.bar2023._night import LENET, MARGIN, rank_run
from prunefield.papers.bar2023._printed import cells
from prunefield.papers.bar2023._table_pictures import (
    CELL,
    KINDS,
    LINE,
    WIDTH,
    draw_differences,
    measure_table,
    write_accuracies,
)
from prunefield.runs import Result, Run
from prunefield.runs.pruned import Pruned
from prunefield.runs.tickets import count_examples

GATE = ("Dense", "Random", "SynFlow")  # the columns that say whether anything can be decided
SHIFTS = {"Dense": 20.0, "Random": -10.0}  # of the ideal table


def fall_behind(pair: Comparison) -> Callable[[Frame], Frame]:
    """A null of columns that are comparable: the second is the first less twice the margin."""
    copy = replace_rows({"column": pair.treatment}, by={"column": pair.control})

    def null(table: Frame) -> Frame:
        table = copy(table)
        return table.assign(accuracy=table["accuracy"] - 2 * MARGIN * (table["column"] == pair.treatment))

    return null


class Table(Item):
    """A table of accuracies; its claims are those of its comparisons, for each network family by itself."""

    columns: ClassVar[tuple[str, ...]]  # those of the paper
    controls: ClassVar[tuple[str, ...]] = ()  # further ones, for comparisons of our own
    comparisons: ClassVar[tuple[Comparison, ...]]
    where: ClassVar[str]
    tiny: ClassVar[bool] = False
    families: ClassVar[tuple[str, ...]] = ("VGG-19", "ResNet-20")  # printed
    measured: ClassVar[tuple[str, ...]] = ("VGG-19", "ResNet-20")
    scales = ("smoke", "night", "paper")
    from_values = True

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        cls.claims = tuple(claim for pair in cls.comparisons for claim in cls._state(pair))
        cls.size = (WIDTH, sum(cls._measure_parts()))

    @classmethod
    def all_columns(cls) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*cls.columns, *GATE, *cls.controls)))

    @classmethod
    def _measure_parts(cls, entries: int = 0) -> tuple[float, float, float]:
        """Heights in inches: differences below a legend with this number of entries, printed accuracies, and ours."""
        differences = 0.9 + LINE * max(4, -(-entries // 2)) + 0.52 * len(cls.comparisons)
        return differences, measure_table(len(cls.columns)), measure_table(len(cls.all_columns()))

    @classmethod
    def _state(cls, pair: Comparison) -> list[Claim]:
        """What a comparison claims: in the printed numbers, and in our runs, of each network family."""
        swapped = {pair.control: pair.treatment, pair.treatment: pair.control}
        same = f" or by two one-sided tests within ±{MARGIN:g}" if pair.comparable else ""
        printed = [
            Claim(
                f"{pair.name}, in the printed numbers ({family})",
                cls.where,
                f"the mean difference lies above zero by its 95% interval{same}, whichever cell is left out",
                partial(pair.judge_printed, family=family),
                fall_behind(pair) if pair.comparable else lambda table: table.replace({"column": swapped}),
            )
            for family in (() if pair.own else cls.families)
        ]
        ours, control = ({"source": "here", "column": column} for column in (pair.treatment, pair.control))
        rarer = pair.control if pair.control in cls.controls else pair.treatment
        found = [
            Claim(
                f"{pair.name}, here at {density:.0%} ({family})",
                "not in the paper" if pair.own or family == LENET else cls.where,
                f"a mean difference over seeds above zero{same}"
                + (
                    " (primary comparison)" if pair.is_primary(density) else ", corrected for the number of comparisons"
                ),
                partial(judge_runs, comparisons=cls.comparisons, chosen=pair, family=family, density=density),
                fall_behind(pair) if pair.comparable else replace_rows(ours, by=control),
                decided_at="night",
                needs={**ours, "column": rarer, "family": family, "density": density},
            )
            for family, density in product(cls.measured, pair.densities)
        ]
        return printed + found

    def runs(self, scale: Scale) -> list[Run]:
        """At night scale in the declared order: the gate and the primary comparison first; at paper scale without the
        comparisons of our own.
        """
        settings = [one for one in (TINY_SETTINGS if self.tiny else SETTINGS)[scale] if one.family in self.measured]
        columns = [name for name in self.all_columns() if scale != "paper" or name not in self.controls]
        found = [(one, run, column) for one in settings for column in columns for run in one.runs(column)]
        if scale == "night":
            found.sort(key=lambda one: rank_run(*one))
        return [run for _, run, _ in found]

    def choose_runs(self, planned: Sequence[Run], done: Sequence[Run], scale: Scale) -> Sequence[Run] | None:
        """At night scale whatever is finished: the claims say what is missing."""
        return done if scale == "night" else super().choose_runs(planned, done, scale)

    def table(self, results: Mapping[Run, Result]) -> Frame:
        """One row per cell, column and seed, ours and (seed −1) the printed ones; accuracies in per cent.

        `density` is the printed one that a row belongs to, `kept` the one of the run. `planned` is the number of seeds
        that were declared, `least` the accuracy that the dense network must have.
        """
        known = places(self.all_columns(), tiny=self.tiny)

        def describe(run: Pruned, result: Result) -> list[Row]:
            (setting, column), mask, last = known[run], result.records[0], result.records[-1]
            level = setting.stands_for or setting.densities[0] if column == "Dense" else setting.stands_for
            place = {"data": setting.data, "net": setting.name, "density": level or run.density, "column": column}
            found = {"accuracy": 100 * last["accuracy"], "emptied": mask["emptied"], "dead": mask["dead"]}
            plan = {"family": setting.family, "planned": setting.seeds, "least": setting.least, "kept": run.density}
            steps = run.recipe.steps(count_examples(run.task, run.images))
            return [{"source": "here", **place, "seed": run.seed, **found, **plan, "steps": steps}]

        printed = DataFrame(cells(self.columns, tiny=self.tiny)).assign(source="paper", seed=-1, family=None)
        table = concat([printed, gather(results, describe, Pruned)])
        table = table.drop(columns="deviation") if self.tiny else table  # none is printed
        return table.sort_values(["source", "data", "net", "density", "column", "seed"], ignore_index=True)

    def ideal(self) -> Frame:
        """Each treatment a point above its control in every printed cell, and up to noise of 0.3 for eight seeds."""

        def rank(column: str) -> float:
            above = (1 + rank(pair.control) for pair in self.comparisons if pair.treatment == column)
            return max(above, default=SHIFTS.get(column, 0.0))

        noise = default_rng(0)
        found = [
            {**cell._asdict(), "source": "paper", "seed": -1, "accuracy": 50 + rank(cell.column), "deviation": 0.3}
            for cell in cells(self.columns, tiny=self.tiny)
        ]
        plan = {"source": "here", "planned": 8, "least": 10.0, "steps": 62_560}
        for family, density, column, seed in product(self.measured, (0.05, 0.02), self.all_columns(), range(8)):
            place = {"data": "CIFAR-10", "net": family, "family": family, "density": density}
            accuracy = 50 + rank(column) + noise.normal(0, 0.3)
            found.append({**plan, **place, "column": column, "seed": seed, "accuracy": accuracy})
        return DataFrame(found).drop(columns=["deviation"] * self.tiny)

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        """Differences of columns above, the accuracies themselves below."""
        names = [f"{pair.treatment}\n− {pair.control}" for pair in self.comparisons]
        printed, ours = ([pair.subtract(table, source) for pair in self.comparisons] for source in ("paper", "here"))
        heights = self._measure_parts(len(concat(ours).groupby(CELL)) + KINDS)
        figure.set_size_inches(WIDTH, sum(heights))
        parts: Any = figure.subfigures(3, 1, height_ratios=heights)
        above, *tables = parts
        draw_differences(above.subplots(), names, [gaps["gap"] for gaps in printed], ours)
        above.legend(loc="outside upper center", ncols=2)
        for part, columns, source in zip(tables, (self.columns, self.all_columns()), ("paper", "here"), strict=True):
            write_accuracies(part.subplots(), table, columns, source)
