"""Fig. S4 of redman2025: cavity scores against the values of the weights."""

from collections.abc import Iterator, Mapping
from itertools import product

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from prunefield.core.figures import letter_panels
from prunefield.papers import Frame, Scale, Verdict, claim, gather, judge, numbers, rows
from prunefield.papers._kit import GREY, SEQUENCE, Row
from prunefield.papers.redman2025._cavities import CAVITY_CHOICE, cavities
from prunefield.papers.redman2025._fates import READING_CHOICE
from prunefield.papers.redman2025._ideal import ROUNDS, fill_table
from prunefield.papers.redman2025._nets import (
    DATA,
    PER_DATA,
    SCALES,
    SHARED_CHOICES,
    claim_on_nets,
    data_of,
    make_row,
)
from prunefield.papers.redman2025._parts import NetItem
from prunefield.papers.redman2025._pictures import split_panels
from prunefield.runs import Record, Result, Run
from prunefield.runs.cavity import Cavity

STRONG = 0.3  # |correlation| from which on a connection is called strong
NAMES = ("pearson_w", "spearman_w", "pearson_abs_w", "spearman_abs_w")
LABELS = ("Pearson with w", "Spearman with w", "Pearson with |w|", "Spearman with |w|")
DRAWN = {"score": ("", "as printed"), "corrected": ("corrected_", "corrected")}  # tensors of a record
CORRECTED = tuple(f"corrected_{name}" for name in NAMES)


def find_ends(table: Frame) -> Frame:
    """The rows of the first and of the last round."""
    return rows(table, round=(0, table["round"].max()))


class FigS4(NetItem):
    """Weight at the rewind point and cavity score, before the first and the last pruning (redman2025, Fig. S4)."""

    title = "Cavity scores against the values of weights"
    size = (11, 3.6 * len(DATA))
    scales = SCALES
    open_choices = (
        *SHARED_CHOICES,
        CAVITY_CHOICE,
        READING_CHOICE,
        "Here both readings must agree: as printed, the bias makes a correlation with |w| where there is none, and the "
        "noise of corrected scores weakens one that is there.",
        "'Not strongly connected', defined before any result was seen: Pearson's and Spearman's correlation of the "
        f"score with w and with |w| are all below {STRONG} in magnitude, for the first and the last n, in every seed.",
        "Our own claim: to first order the score is w times a factor, so its spread (standard deviation) must grow "
        "with |w| even where its mean does not. It is computed from 2,000 weights of each net and round.",
    )

    def runs(self, scale: Scale) -> list[Run]:
        return cavities(scale)

    def table(self, results: Mapping[Run, Result]) -> Frame:
        """One row per data set, seed and round; spreads are those of the smallest and the largest third of |w|."""

        def measure(run: Cavity, result: Result) -> Iterator[Row]:
            for record in select_weight_records(result):
                ordered = record.tensors["score"][record.tensors["weight"].abs().argsort()]
                third = len(ordered) // 3
                spread = {"spread_low": ordered[:third].std().item(), "spread_high": ordered[-third:].std().item()}
                yield make_row(run.of, record, "round", "count", *NAMES, *CORRECTED) | spread

        return gather(results, measure, Cavity)

    def ideal(self) -> Frame:
        """No correlation of score and weight (Fig. S4); the spread is proportional to |w|, as it is to first order."""
        values = {**dict.fromkeys((*NAMES, *CORRECTED), 0.0), "spread_low": 1.0, "spread_high": 5.0}
        return fill_table(lambda _: values, round=range(ROUNDS))

    @claim_on_nets(
        "Neither the sign nor the magnitude of a weight is strongly connected to its cavity score",
        at="Sec. 3.3, Fig. S4",
        expect=f"|correlation| < {STRONG} with w and |w|, as printed and corrected, first and last round, every seed",
        null=lambda table: table.assign(**dict.fromkeys((*NAMES, *CORRECTED), 1.0)),  # the weight itself as the score
    )
    def weakly_connected(table: Frame) -> Verdict:
        found = find_ends(table)
        every = (*NAMES, *CORRECTED)
        largest = {name: max(numbers(found, name), key=abs) for name in every}
        observed, corrected = (
            ", ".join(f"{label} {largest[name]:+.2f}" for label, name in zip(LABELS, part, strict=True))
            for part in (NAMES, CORRECTED)
        )
        good = (found[list(every)].abs() < STRONG).all(axis=None)
        return judge(
            good, f"largest correlation over all seeds: {observed}", len(every) * len(found), f"corrected: {corrected}"
        )

    @claim(
        "The spread of the scores grows with the magnitude of the weights",
        at="follows from eq. 5 to first order",
        expect="larger in the largest third of |w| than in the smallest, first and last round, every seed",
        null=lambda table: table.assign(spread_high=table["spread_low"]),  # scores that do not depend on |w|
        per=PER_DATA,
    )
    def spread_grows(table: Frame) -> Verdict:
        found = find_ends(table)
        ratios = found["spread_high"] / found["spread_low"]
        observed = f"largest third of |w| over smallest: {ratios.min():.1f} to {ratios.max():.1f}"
        return judge(ratios.min() > 1, observed, 2 * len(found))

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        lettered: list[Axes] = []
        for data, _, panels in split_panels(figure, table, 4, sharey="row"):
            run = next(run for run in results if isinstance(run, Cavity) and data_of(run.of.task) == data)
            records = select_weight_records(results[run])
            for axes, (name, record) in zip(panels, product(DRAWN, (records[0], records[-1])), strict=True):
                draw_scatter(axes, record, name)
                axes.set_title(f"{data},\nn = {record['round']}", loc="left")
            panels[0].set_ylabel("weight at the rewind point")
            lettered.extend(panels)
        letter_panels(lettered)
        words = (
            "cavity scores per class, as printed or corrected, after n rounds; light: many weights;\n"
            "ρ: rank correlation of score and weight w (Spearman)"
        )
        figure.suptitle(words, fontsize="small")


def select_weight_records(result: Result) -> list[Record]:
    """The records of single weights, one for each round."""
    return [record for record in result.records if record["by"] == "all"]


def draw_scatter(axes: Axes, record: Record, name: str) -> None:
    weight, score = (record.tensors[key].numpy() for key in ("weight", name))
    axes.hexbin(score, weight, gridsize=45, bins="log", mincnt=1, linewidths=0, cmap=SEQUENCE, rasterized=True)
    axes.axvline(0, color=GREY, linewidth=0.6)
    prefix, label = DRAWN[name]
    axes.locator_params(axis="x", nbins=3)
    ranks = f"ρ {record[f'{prefix}spearman_w']:+.2f}, of |w| {record[f'{prefix}spearman_abs_w']:+.2f}"
    axes.set_xlabel(f"score, {label}\n{ranks}".replace("-", "−"))
