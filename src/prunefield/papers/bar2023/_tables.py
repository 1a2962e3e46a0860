"""What Tables 1 to 4 of bar2023 share: printed and measured accuracies in one table, compared in pairs."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from prunefield.measures.differences import Difference, compare_pairs
from prunefield.papers import Claim, Item, Scale, Verdict
from prunefield.papers.bar2023._experiments import SETTINGS, TINY_SETTINGS, places
from prunefield.papers.bar2023._printed import cells
from prunefield.runs import Result, Run
from prunefield.runs.pruned import Pruned

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

Frame = Any  # a DataFrame; pandas' own types cannot follow a selection of a selection
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")  # of networks and densities
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
    where: str

    def claims(self) -> tuple[Claim, Claim]:
        """One for the printed numbers, one for ours."""
        name = f"{self.text}: {self.treatment} against {self.control}"
        counted = Claim(
            f"{name}, in the printed numbers",
            self.where,
            "better in more than half of the printed cells, and on average",
            self._count,
            self._swap,
        )
        paired = Claim(
            f"{name}, here",
            self.where,
            "a mean difference over seeds above zero",
            self._pair,
            self._without_effect,
            decided_at="laptop",
        )
        return counted, paired

    def _gaps(self, table: Frame, source: str) -> Frame:
        """Treatment − control, one row per cell and seed."""
        part = table[(table["source"] == source) & table["column"].isin([self.control, self.treatment])]
        wide = part.pivot_table(index=["data", "net", "density", "seed"], columns="column", values="accuracy")
        return (wide[self.treatment] - wide[self.control]).round(6).rename("gap").reset_index()

    def differences(self, table: Frame) -> dict[str, Difference]:
        """Over seeds, for each of our cells."""
        gaps = self._gaps(table, "here")
        groups = gaps.groupby(["data", "net", "density"])["gap"]
        return {
            f"{data}, {net}, {density:.0%}": compare_pairs([0.0] * len(group), list(group))
            for (data, net, density), group in groups
        }

    def printed(self, table: Frame) -> list[float]:
        """The differences of the printed numbers."""
        return [float(gap) for gap in self._gaps(table, "paper")["gap"]]

    def _count(self, table: "DataFrame") -> Verdict:
        gaps = self.printed(table)
        wins, ties, mean = sum(gap > 0 for gap in gaps), sum(gap == 0 for gap in gaps), sum(gaps) / len(gaps)
        good = wins > len(gaps) / 2 and mean > 0
        observed = f"better in {wins} of {len(gaps)} cells ({ties} ties), mean difference {mean:+.2f} points"
        return Verdict("reproduced" if good else "not reproduced", observed, len(gaps))

    def _pair(self, table: "DataFrame") -> Verdict:
        seeds = self._gaps(table, "here").groupby("seed")["gap"].mean()
        found = compare_pairs([0.0] * len(seeds), [float(gap) for gap in seeds])
        printed = self.printed(table)
        mean = sum(printed) / len(printed)
        if found.low > 0:
            status = "reproduced"
        elif found.high <= max(mean, 0):
            status = "not reproduced"
        else:
            status = "not testable at this scale"
        each = "; ".join(f"{cell}: {gap.mean:+.2f} ± {gap.high - gap.mean:.2f}"
                         for cell, gap in self.differences(table).items())  # fmt: skip
        return Verdict(status, f"{found} points; printed {mean:+.2f}", found.n, each)

    def _swap(self, table: "DataFrame") -> "DataFrame":
        """The table with the two columns swapped."""
        return table.replace({"column": {self.control: self.treatment, self.treatment: self.control}})

    def _without_effect(self, table: Frame) -> "DataFrame":
        """The table if our treatment gave what the control gives."""
        import pandas

        ours = (table["source"] == "here") & (table["column"] == self.treatment)
        same = table[(table["source"] == "here") & (table["column"] == self.control)].assign(column=self.treatment)
        return pandas.concat([table[~ours], same], ignore_index=True)


class Table(Item):
    """A table of accuracies."""

    columns: ClassVar[tuple[str, ...]]
    comparisons: ClassVar[tuple[Comparison, ...]]
    tiny: ClassVar[bool] = False
    open_choices: ClassVar[tuple[str, ...]] = CHOICES

    def runs(self, scale: Scale) -> list[Run]:
        settings = (TINY_SETTINGS if self.tiny else SETTINGS)[scale]
        return [run for setting in settings for column in self.columns for run in setting.runs(column)]

    def table(self, results: Mapping[Run, Result]) -> "DataFrame":
        """One row per cell, column and seed, ours and (seed −1) the printed ones; accuracies in per cent."""
        import pandas

        rows = [{"source": "paper", **cell._asdict(), "seed": -1} for cell in cells(self.columns, tiny=self.tiny)]
        known = places(self.columns, tiny=self.tiny)
        for run, result in results.items():
            if isinstance(run, Pruned) and run in known:
                setting, column = known[run]
                place = {"data": setting.data, "net": setting.name, "density": run.density, "column": column}
                mask, last = result.records[0], result.records[-1]
                numbers = {"accuracy": 100 * last["accuracy"], "emptied": mask["emptied"], "dead": mask["dead"]}
                rows.append({"source": "here", **place, "seed": run.seed, **numbers})
        names = ["source", "data", "net", "density", "column", "seed"]
        return pandas.DataFrame(rows).sort_values(names, ignore_index=True)

    def ideal(self) -> "DataFrame":
        """Each treatment a point above its control in every printed cell, and up to noise of 0.3 for three seeds."""
        import pandas
        from numpy.random import default_rng

        def rank(column: str) -> int:
            return max((1 + rank(pair.control) for pair in self.comparisons if pair.treatment == column), default=0)

        sources = [("paper", -1, 0.0), *(("here", seed, 0.3) for seed in range(3))]
        noise, rows = default_rng(0), []
        for cell in cells(self.columns, tiny=self.tiny):
            for source, seed, deviation in sources:
                accuracy = 50 + rank(cell.column) + noise.normal(0, deviation)
                rows.append({"source": source, **cell._asdict(), "accuracy": accuracy, "seed": seed})
        return pandas.DataFrame(rows)

    def draw(self, table: "DataFrame", results: Mapping[Run, Result]) -> "Figure":
        """Differences: ours with their 95 % intervals, printed ones as crosses."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(8, 1.2 + 0.75 * len(self.comparisons)), layout="constrained")
        axes = figure.add_subplot()
        for place, comparison in enumerate(self.comparisons):
            printed = comparison.printed(table)
            axes.plot(printed, [place + 0.25] * len(printed), "x", color="grey", label=None if place else "printed")
            ours = comparison.differences(table)
            for index, (cell, found) in enumerate(ours.items()):
                height, colour = place - 0.3 + 0.4 * index / len(ours), COLOURS[index % len(COLOURS)]
                axes.plot([found.low, found.high], [height] * 2, color=colour, linewidth=1)
                axes.plot(found.mean, height, "o", color=colour, markersize=4, label=None if place else cell)
        axes.axvline(0, color="black", linewidth=0.8)
        axes.set_yticks(range(len(self.comparisons)), [f"{c.treatment}\n− {c.control}" for c in self.comparisons])
        axes.invert_yaxis()
        axes.set(xscale="symlog", xlabel="difference of accuracies (points)")
        figure.legend(loc="outside upper center", ncols=2)
        return figure
