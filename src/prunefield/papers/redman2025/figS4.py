"""Fig. S4 of redman2025: cavity scores against the values of the weights."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from prunefield.papers import Claim, Item, Scale, Verdict
from prunefield.papers._rows import column, rows
from prunefield.papers.redman2025._cavities import CAVITY_CHOICE, cavities
from prunefield.papers.redman2025._claims import judge, on_each
from prunefield.papers.redman2025._ideal import ROUNDS, fill_table
from prunefield.papers.redman2025._nets import DATA, SHARED_CHOICES, data_of
from prunefield.runs import Record, Result, Run
from prunefield.runs.cavity import Cavity

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

STRONG = 0.3  # |correlation| from which on a connection is called strong
NAMES = ("pearson_w", "spearman_w", "pearson_abs_w", "spearman_abs_w")


def ends(table: "DataFrame") -> "DataFrame":
    """The rows of the first and of the last round."""
    import pandas

    last = table["round"].max()
    return pandas.concat([rows(table, round=0), rows(table, round=last)], ignore_index=True)


def check_weak(table: "DataFrame") -> Verdict:
    found = ends(table)
    largest = {name: max(column(found, name), key=abs) for name in NAMES}
    observed = ", ".join(f"{name} {value:+.2f}" for name, value in largest.items())
    good = all(abs(value) < STRONG for value in largest.values())
    return judge(good, f"largest over all seeds: {observed}", len(NAMES) * len(found))


def check_spread(table: "DataFrame") -> Verdict:
    found = ends(table)
    ratios = [high / low for low, high in zip(column(found, "spread_low"), column(found, "spread_high"), strict=True)]
    observed = f"largest third of |w| over smallest: {min(ratios):.1f} to {max(ratios):.1f}"
    return judge(min(ratios) > 1, observed, 2 * len(found))


def tied(table: "DataFrame") -> "DataFrame":
    """The table with the weight itself as the score."""
    return table.assign(**dict.fromkeys(NAMES, 1.0))


def blind(table: "DataFrame") -> "DataFrame":
    """The table with scores that do not depend on the magnitudes of the weights."""
    return table.assign(spread_high=table["spread_low"])


class FigS4(Item):
    """Weight at the rewind point and cavity score, before the first and the last pruning (redman2025, Fig. S4)."""

    title: ClassVar[str] = "Cavity scores against the values of weights"
    open_choices: ClassVar[tuple[str, ...]] = (
        *SHARED_CHOICES,
        CAVITY_CHOICE,
        "'Not strongly connected', defined before any result was seen: Pearson's and Spearman's correlation of the "
        "score "
        f"with w and with |w| are all below {STRONG} in magnitude, for the first and the last n, in every seed.",
        "Our own claim: to first order the score is w times a factor, so its spread (standard deviation) must grow "
        "with |w| even where its mean does not. It is computed from 2,000 weights of each net and round.",
    )
    claims: ClassVar[tuple[Claim, ...]] = on_each(
        Claim(
            "Neither the sign nor the magnitude of a weight is strongly connected to its cavity score",
            "Sec. 3.3, Fig. S4",
            f"|correlation| < {STRONG} with w and |w|, first and last round, every seed",
            check_weak,
            tied,
            decided_at="laptop",
        ),
        Claim(
            "The spread of the scores grows with the magnitude of the weights",
            "follows from eq. 5 to first order",
            "larger in the largest third of |w| than in the smallest, first and last round, every seed",
            check_spread,
            blind,
        ),
    )

    def runs(self, scale: Scale) -> list[Run]:
        return [*cavities(scale)]

    def table(self, results: Mapping[Run, Result]) -> "DataFrame":
        """One row per data set, seed and round."""
        import pandas

        found = []
        for run in (run for run in results if isinstance(run, Cavity)):
            for record in (record for record in results[run].records if record["by"] == "all"):
                place = {"data": data_of(run.of), "seed": run.of.seed, "round": record["round"]}
                kept = {name: record[name] for name in ("count", *NAMES)}
                found.append(place | kept | _spread(record))
        return pandas.DataFrame(found)

    def ideal(self) -> "DataFrame":
        """No correlation of score and weight (Fig. S4); the spread is proportional to |w|, as it is to first order."""
        values = {**dict.fromkeys(NAMES, 0.0), "spread_low": 1.0, "spread_high": 5.0}
        return fill_table(lambda _: values, round=range(ROUNDS))

    def draw(self, table: "DataFrame", results: Mapping[Run, Result]) -> "Figure":
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 3.5 * len(DATA)), layout="constrained")
        grid = figure.subplots(len(DATA), 2, squeeze=False)
        for panels, data in zip(grid, DATA, strict=True):
            run = next(run for run in results if isinstance(run, Cavity) and data_of(run.of) == data)
            records = [record for record in results[run].records if record["by"] == "all"]
            for axes, record in zip(panels, (records[0], records[-1]), strict=True):
                _draw(axes, record)
                tie = f"Spearman: w {record['spearman_w']:+.2f}, |w| {record['spearman_abs_w']:+.2f}"
                axes.set_title(f"{data}, n = {record['round']}", loc="left", fontweight="bold")
                axes.set_title(tie, loc="right", fontsize=8)
        return figure


def _spread(record: Record) -> dict[str, float]:
    """Standard deviations of the scores of the smallest and of the largest third of the weights."""
    ordered = record.tensors["score"][record.tensors["weight"].abs().argsort()]
    third = len(ordered) // 3
    return {"spread_low": ordered[:third].std().item(), "spread_high": ordered[-third:].std().item()}


def _draw(axes: "Axes", record: Record) -> None:
    weight, score = (record.tensors[name].numpy() for name in ("weight", "score"))
    axes.hexbin(score, weight, gridsize=45, bins="log", mincnt=1, linewidths=0, cmap="viridis", rasterized=True)
    axes.axvline(0, color="grey", linewidth=0.6)
    axes.set_xlabel("cavity score")
    axes.set_ylabel("weight at the rewind point")
