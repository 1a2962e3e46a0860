"""What Tables 1 to 4 of bar2023 share: printed and measured accuracies in one table, compared in pairs."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple

from matplotlib.figure import Figure
from numpy.random import default_rng
from pandas import DataFrame, concat

from prunefield.measures.differences import Difference, compare_pairs
from prunefield.papers import Claim, Frame, Item, Scale, Verdict, gather, judge, replace_rows, rows
from prunefield.papers._kit import Row
from prunefield.papers.bar2023._experiments import SETTINGS, TINY_SETTINGS, places
from prunefield.papers.bar2023._printed import cells
from prunefield.papers.bar2023._table_pictures import CELL, LINE, draw_differences, measure_table, write_accuracies
from prunefield.runs import Result, Run
from prunefield.runs.pruned import Pruned

CHOICES = (
    "Each of our numbers is a mean over seeds of a smaller network: at laptop scale ResNet-8 of width 8 on 4,000 "
    "images of CIFAR-10 for 4 epochs (density 5 %) and LeNet-300-100 on 12,000 images of Fashion-MNIST for 5 epochs "
    "(10, 5 and 2 %), 8 seeds each; the learning rate is 0.02 for LeNet, which has no batch normalisation. These "
    "sizes were chosen by cost before any accuracy was seen, except for the number of seeds: with 4 at first, the "
    "intervals were too wide for most verdicts. At smoke scale there are four training steps and two seeds, and no "
    "verdict rests on them.",
    "Comparisons are paired: the same seed has the same initial weights and batches in all columns. A claim is "
    "`reproduced` if the 95 % "
    "interval of the mean difference over seeds (of the mean over networks and densities) is above zero, `not "
    "reproduced` if it excludes the printed mean difference, otherwise `not testable at this scale`.",
    "ResNet-20 has the width 16 at paper scale. The printed CIFAR-100 rows of SNIP and GraSP (67 % at 10 %) are "
    "probably from a network twice as wide as those of SynFlow, IMP, Random and Magnitude (50 to 58 %), so rows are "
    "compared only within a method, and the printed mean of a comparison is over all printed cells.",
    "Scores are computed in eval mode with a global threshold, classifier included; SNIP and GraSP use 256 examples, "
    "and SynFlow runs for 100 iterations with a new chi input in each. The paper does not say when the mask is "
    "sampled: for SynFlow it is sampled in every iteration, where the code that the paper builds on thresholds. "
    "GraSP's sampling probabilities are the positive parts of its scores.",
    "IMP: level l has the density ρ^{(l+1)/L}, so that ρ is reached exactly; weights are rewound to the step that "
    "the paper calls warm-up; random data is a fixed set of N(0, 1) images with uniform labels, without "
    "augmentation; the last mask is then trained on the real data from the rewound weights.",
)


class Comparison(NamedTuple):
    """Two columns, the second of which the paper says is better."""

    control: str
    treatment: str
    text: str

    def claims(self, where: str) -> tuple[Claim, Claim]:
        """One for the printed numbers, one for ours."""
        name = f"{self.text}: {self.treatment} against {self.control}"
        swapped = {self.control: self.treatment, self.treatment: self.control}
        ours, same = ({"source": "here", "column": column} for column in (self.treatment, self.control))
        return (
            Claim(
                f"{name}, in the printed numbers",
                where,
                "better in more than half of the printed cells, and on average",
                self.judge_printed,
                lambda table: table.replace({"column": swapped}),
            ),
            Claim(
                f"{name}, here",
                where,
                "a mean difference over seeds above zero",
                self.judge_ours,
                replace_rows(ours, by=same),
                decided_at="laptop",
            ),
        )

    def subtract(self, table: Frame, source: str) -> Frame:
        """Treatment − control, one row per cell and seed."""
        part = rows(table, source=source, column=(self.control, self.treatment))
        wide = part.pivot_table(index=["data", "net", "density", "seed"], columns="column", values="accuracy")
        return (wide[self.treatment] - wide[self.control]).round(6).rename("gap").reset_index()

    def average_printed(self, table: Frame) -> float:
        gaps = list(self.subtract(table, "paper")["gap"])
        return sum(gaps) / len(gaps)  # one after the other: in any other order, 1.245 may round up

    def summarise(self, table: Frame) -> dict[str, Difference]:
        """The differences over seeds, for each of our cells."""
        groups = self.subtract(table, "here").groupby(["data", "net", "density"])["gap"]
        return {
            f"{data}, {net}, {density:.0%}": compare_pairs([0.0] * len(gaps), list(gaps))
            for (data, net, density), gaps in groups
        }

    def judge_printed(self, table: Frame) -> Verdict:
        gaps = self.subtract(table, "paper")["gap"]
        wins, ties, mean = (gaps > 0).sum(), (gaps == 0).sum(), self.average_printed(table)
        seen = f"better in {wins} of {len(gaps)} cells ({ties} ties), mean difference {mean:+.2f} points"
        return judge(wins > len(gaps) / 2 and mean > 0, seen, len(gaps))

    def judge_ours(self, table: Frame) -> Verdict:
        seeds = self.subtract(table, "here").groupby("seed")["gap"].mean()
        found, printed = compare_pairs([0.0] * len(seeds), list(seeds)), self.average_printed(table)
        each = "; ".join(
            f"{cell}: {gap.mean:+.2f} ± {gap.high - gap.mean:.2f}" for cell, gap in self.summarise(table).items()
        )
        verdict = judge(found.low > 0, f"{found} points; printed {printed:+.2f}", found.n, each)
        decided = found.low > 0 or found.high <= max(printed, 0)
        return verdict if decided else replace(verdict, status="not testable at this scale")


class Table(Item):
    """A table of accuracies; its claims are those of its comparisons."""

    columns: ClassVar[tuple[str, ...]]
    comparisons: ClassVar[tuple[Comparison, ...]]
    where: ClassVar[str]
    tiny: ClassVar[bool] = False
    open_choices = CHOICES

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        cls.claims = tuple(claim for pair in cls.comparisons for claim in pair.claims(cls.where))
        cls.size = (9.5, 1.5 + 0.62 * len(cls.comparisons) + LINE * (len(cls.columns) + 5))

    def runs(self, scale: Scale) -> list[Run]:
        settings = (TINY_SETTINGS if self.tiny else SETTINGS)[scale]
        return [run for setting in settings for column in self.columns for run in setting.runs(column)]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        """One row per cell, column and seed, ours and (seed −1) the printed ones; accuracies in per cent."""
        known = places(self.columns, tiny=self.tiny)

        def describe(run: Pruned, result: Result) -> list[Row]:
            (setting, column), mask, last = known[run], result.records[0], result.records[-1]
            place = {"data": setting.data, "net": setting.name, "density": run.density, "column": column}
            found = {"accuracy": 100 * last["accuracy"], "emptied": mask["emptied"], "dead": mask["dead"]}
            return [{"source": "here", **place, "seed": run.seed, **found}]

        printed = DataFrame(cells(self.columns, tiny=self.tiny)).assign(source="paper", seed=-1)
        table = concat([printed, gather(results, describe, Pruned)])
        return table.sort_values(["source", "data", "net", "density", "column", "seed"], ignore_index=True)

    def ideal(self) -> Frame:
        """Each treatment a point above its control in every printed cell, and up to noise of 0.3 for three seeds."""

        def rank(column: str) -> int:
            return max((1 + rank(pair.control) for pair in self.comparisons if pair.treatment == column), default=0)

        sources = [("paper", -1, 0.0), *(("here", seed, 0.3) for seed in range(3))]
        noise, found = default_rng(0), []
        for cell in cells(self.columns, tiny=self.tiny):
            for source, seed, deviation in sources:
                accuracy = 50 + rank(cell.column) + noise.normal(0, deviation)
                found.append({**cell._asdict(), "source": source, "seed": seed, "accuracy": accuracy})
        return DataFrame(found)

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        """Differences of columns above, the accuracies themselves below."""
        counts = {source: len(rows(table, source=source).groupby(CELL)) for source in ("paper", "here")}
        wide, high = measure_table(len(self.columns), counts["paper"], counts["here"])
        tall = 0.8 + 0.62 * len(self.comparisons)
        figure.set_size_inches(max(self.size[0], wide), tall + high + 0.7)
        above, below = figure.subplots(2, 1, height_ratios=(tall, high))
        names = [f"{pair.treatment}\n− {pair.control}" for pair in self.comparisons]
        printed, ours = ([pair.subtract(table, source) for pair in self.comparisons] for source in ("paper", "here"))
        draw_differences(above, names, [gaps["gap"] for gaps in printed], ours)
        write_accuracies(below, table, self.columns)
        figure.legend(loc="outside upper center", ncols=3)
