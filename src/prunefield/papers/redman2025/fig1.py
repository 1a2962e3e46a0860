"""Fig. 1 of redman2025: the masks of the most connected units, by iterative and by one-shot pruning."""

from collections.abc import Iterator, Mapping

from matplotlib.figure import Figure

from prunefield.measures.patches import find_lonely_share
from prunefield.measures.pictures import show_fields
from prunefield.papers import Frame, Scale, Verdict, gather, judge
from prunefield.papers._kit import Row
from prunefield.papers.redman2025._curves import imp_as_random
from prunefield.papers.redman2025._ideal import fill_table
from prunefield.papers.redman2025._intervals import INTERVAL_CHOICE, add_intervals
from prunefield.papers.redman2025._nets import (
    MOST_CONNECTED,
    SCALES,
    SHARED_CHOICES,
    claim_on_nets,
    make_row,
    nets,
    widths,
)
from prunefield.papers.redman2025._parts import NetItem
from prunefield.papers.redman2025._pictures import COLOURS, LABELS, connected, data_in, find_net
from prunefield.runs import Result, Run
from prunefield.runs.gabors import Gabors
from prunefield.runs.imp import METHODS
from prunefield.runs.widths import Widths

SHOWN, COLUMNS = 120, 15  # masks in a picture and in a line of it, as in the paper


class Fig1(NetItem):
    """The last masks, coloured by channel, of the units with most kept inputs (redman2025, Fig. 1)."""

    title = "Masks of the most connected units under iterative and one-shot pruning"
    size = (11, 6.9)
    scales = SCALES
    open_choices = (
        *SHARED_CHOICES,
        "The paper does not quantify 'more localised' and 'noisier'. Here they are measured by the mean width σx as "
        "in Fig. 4A, and by the share of kept inputs none of whose eight neighbours in the same channel is kept; "
        f"both over the most connected units, {MOST_CONNECTED}, in every seed.",
        "The paper does not discuss orientation, but its Fig. 1A shows it; its measure here is |Σ P e^{2iθ}|/Σ P of "
        "a mask's Fourier power P, with the channels summed; the share of variance explained by a Gabor fit is in "
        "the table as well.",
        INTERVAL_CHOICE,
        "The picture shows 120 units, or all if there are fewer, of the first seed.",
    )

    def runs(self, scale: Scale) -> list[Run]:
        found = widths(scale, nets(scale))
        return [run for one in found for run in (one, Gabors(of=one.of, top=one.top))]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        """One row per data set, seed and method, at the last round."""

        def measure(run: Widths, result: Result) -> Iterator[Row]:
            for record in (record for record in result.records if record["round"] == run.of.rounds):
                fields = connected(run.of, results[run.of], record["method"], run.top)
                row = make_row(run.of, record, "method", "density", width="mean_x_top")
                yield {**row, "units": len(fields), "lonely": find_lonely_share(fields).mean().item()}

        def orient(run: Gabors, result: Result) -> list[Row]:
            return [make_row(run.of, record, "method", "selectivity", "explained") for record in result.records]

        table = gather(results, measure, Widths).merge(gather(results, orient, Gabors))
        table = table.sort_values(["data", "seed", "method"], ignore_index=True)
        return add_intervals(table, ("width", "lonely", "selectivity"), ("data", "method"))

    def ideal(self) -> Frame:
        """IMP's masks are the most local and the most oriented; those of one-shot pruning are noisier (Fig. 1)."""
        values = {
            "imp": {"width": 5.0, "lonely": 0.05, "selectivity": 0.4},
            "oneshot": {"width": 8.5, "lonely": 0.2, "selectivity": 0.3},
            "random": {"width": 14.5, "lonely": 0.8, "selectivity": 0.05},
        }
        return fill_table(lambda case: values[case["method"]], method=METHODS)

    @claim_on_nets(
        "IMP discovers more localised receptive fields than one-shot pruning",
        at="Fig. 1",
        expect="IMP's mean width is smaller in every seed",
        null=imp_as_random,
    )
    def more_local(table: Frame) -> Verdict:
        widths = table.pivot(index="seed", columns="method", values="width")
        observed = f"σx of the most connected units: {list_means(widths)} pixels"
        return judge((widths["imp"] < widths["oneshot"]).all(), observed, 2 * len(widths))

    @claim_on_nets(
        "Masks of one-shot pruning are noisier",
        at="Fig. 1B",
        expect="one-shot pruning keeps more inputs that have no kept neighbour, in every seed",
        null=imp_as_random,
    )
    def noisier(table: Frame) -> Verdict:
        alone = table.pivot(index="seed", columns="method", values="lonely")
        observed = f"share of kept inputs without a kept neighbour: {list_means(alone)}"
        return judge((alone["imp"] < alone["oneshot"]).all(), observed, 2 * len(alone))

    @claim_on_nets(
        "IMP's masks are oriented, like simple cells of visual cortex",
        at="our reading of Fig. 1A",
        expect="their orientation selectivity is above that of one-shot pruning and of random masks, in every seed",
        null=imp_as_random,
    )
    def oriented(table: Frame) -> Verdict:
        found = table.pivot(index="seed", columns="method", values="selectivity")
        above = (found["imp"] > found["oneshot"]) & (found["imp"] > found["random"])
        return judge(above.all(), f"mean orientation selectivity: {list_means(found)}", 3 * len(found))

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        nets = {data: find_net(results, data) for data in data_in(table)}
        lines = -(-min(SHOWN, *(imp.hidden[0] for imp in nets.values())) // COLUMNS)
        figure.set_figheight(len(nets) * (0.36 * lines + 0.4) + 0.3)
        for panels, (data, imp) in zip(figure.subplots(len(nets), 2, squeeze=False), nets.items(), strict=True):
            for axes, method in zip(panels, ("imp", "oneshot"), strict=True):
                fields = connected(imp, results[imp], method, SHOWN)
                show_fields(axes, fields, COLUMNS, f"{LABELS[method]}, {data}", COLOURS[method])
        figure.suptitle("black: pruned; colour: the channels kept there; most connected unit first")


def list_means(values: Frame) -> str:
    return ", ".join(f"{LABELS[method]} {values[method].mean():.3g}" for method in METHODS)
