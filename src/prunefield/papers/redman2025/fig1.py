"""Fig. 1 of redman2025: the masks of the most connected units, by iterative and by one-shot pruning."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from prunefield.measures.patches import find_lonely_share
from prunefield.measures.pictures import show
from prunefield.papers import Claim, Item, Scale, Verdict
from prunefield.papers.redman2025._claims import judge, on_each
from prunefield.papers.redman2025._fig4_checks import imp_as_random
from prunefield.papers.redman2025._ideal import fill_table
from prunefield.papers.redman2025._intervals import INTERVAL_CHOICE, add_intervals
from prunefield.papers.redman2025._nets import DATA, SHARED_CHOICES, TOP, data_of, nets
from prunefield.papers.redman2025._pictures import COLOURS, LABELS, connected
from prunefield.runs import Result, Run
from prunefield.runs.gabors import Gabors
from prunefield.runs.imp import METHODS, Imp
from prunefield.runs.widths import Widths

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

SHOWN, COLUMNS = 120, 15  # masks in a picture and in a line of it, as in the paper


def check_width(table: "DataFrame") -> Verdict:
    widths = table.pivot(index="seed", columns="method", values="width")
    observed = f"σx of the most connected units: {_means(widths)} pixels"
    return judge(bool((widths["imp"] < widths["oneshot"]).all()), observed, 2 * len(widths))


def check_noise(table: "DataFrame") -> Verdict:
    alone = table.pivot(index="seed", columns="method", values="lonely")
    observed = f"share of kept inputs without a kept neighbour: {_means(alone)}"
    return judge(bool((alone["imp"] < alone["oneshot"]).all()), observed, 2 * len(alone))


def check_orientation(table: "DataFrame") -> Verdict:
    oriented = table.pivot(index="seed", columns="method", values="selectivity")
    observed = f"mean orientation selectivity: {_means(oriented)}"
    good = (oriented["imp"] > oriented["oneshot"]) & (oriented["imp"] > oriented["random"])
    return judge(bool(good.all()), observed, 3 * len(oriented))


def _means(values: "DataFrame") -> str:
    return ", ".join(f"{LABELS[method]} {values[method].mean():.3g}" for method in METHODS)


class Fig1(Item):
    """The last masks, coloured by channel, of the units with most kept inputs (redman2025, Fig. 1)."""

    title: ClassVar[str] = "Masks of the most connected units under iterative and one-shot pruning"
    open_choices: ClassVar[tuple[str, ...]] = (
        *SHARED_CHOICES,
        "The paper does not quantify 'more localised' and 'noisier'. Here they are measured by the mean width σx as "
        "in Fig. 4A, and by the share of kept inputs none of whose eight neighbours in the same channel is kept; "
        "both over the most connected units (120 of 1024; 40 of 256, 20 of 64), in every seed.",
        "Orientation is not discussed in the paper, but is what one sees: |Σ P e^{2iθ}|/Σ P of a mask's Fourier "
        "power P, with the channels summed; the share of variance explained by a Gabor fit is in the table as well.",
        INTERVAL_CHOICE,
        "The picture shows 120 units, or all if there are fewer, of the first seed.",
    )
    claims: ClassVar[tuple[Claim, ...]] = on_each(
        Claim(
            "IMP discovers more localised receptive fields than one-shot pruning",
            "Fig. 1",
            "IMP's mean width is smaller in every seed",
            check_width,
            imp_as_random,
            decided_at="laptop",
        ),
        Claim(
            "Masks of one-shot pruning are noisier",
            "Fig. 1B",
            "one-shot pruning keeps more inputs that have no kept neighbour, in every seed",
            check_noise,
            imp_as_random,
            decided_at="laptop",
        ),
        Claim(
            "IMP's masks are oriented, like simple cells of visual cortex",
            "our reading of Fig. 1A",
            "their orientation selectivity is above that of one-shot pruning and of random masks, in every seed",
            check_orientation,
            imp_as_random,
            decided_at="laptop",
        ),
    )

    def runs(self, scale: Scale) -> list[Run]:
        imps = [imp for data in DATA for imp in nets(scale, data)]
        return [run for imp in imps for run in (Widths(of=imp, top=TOP[scale]), Gabors(of=imp, top=TOP[scale]))]

    def table(self, results: Mapping[Run, Result]) -> "DataFrame":
        """One row per data set, seed and method, at the last round."""
        import pandas

        names = ("data", "seed", "method")
        rows: dict[tuple, dict] = {}
        for run, result in results.items():
            if isinstance(run, Widths | Gabors):
                for record in (record for record in result.records if record["round"] == run.of.rounds):
                    key = (data_of(run.of), run.of.seed, record["method"])
                    row = rows.setdefault(key, dict(zip(names, key, strict=True)))
                    if isinstance(run, Gabors):
                        row.update({name: record[name] for name in ("selectivity", "explained")})
                    else:
                        fields = connected(run.of, results[run.of], record["method"], run.top)
                        row.update(density=record["density"], width=record["mean_x_top"], units=len(fields))
                        row.update(lonely=find_lonely_share(fields).mean().item())
        table = pandas.DataFrame(list(rows.values())).sort_values(list(names), ignore_index=True)
        return add_intervals(table, ("width", "lonely", "selectivity"), ("data", "method"))

    def ideal(self) -> "DataFrame":
        """IMP's masks are the most local and the most oriented; those of one-shot pruning are noisier (Fig. 1)."""
        values = {
            "imp": {"width": 5.0, "lonely": 0.05, "selectivity": 0.4},
            "oneshot": {"width": 8.5, "lonely": 0.2, "selectivity": 0.3},
            "random": {"width": 14.5, "lonely": 0.8, "selectivity": 0.05},
        }
        return fill_table(lambda case: values[case["method"]], method=METHODS)

    def draw(self, table: "DataFrame", results: Mapping[Run, Result]) -> "Figure":
        from matplotlib.figure import Figure

        first = {data_of(run): run for run in results if isinstance(run, Imp) and run.seed == 0}
        lines = -(-min(SHOWN, first["leaves"].hidden[0]) // COLUMNS)
        figure = Figure(figsize=(11, len(DATA) * (0.36 * lines + 0.4) + 0.3), layout="constrained")
        grid = figure.subplots(len(DATA), 2, squeeze=False)
        for row, data in zip(grid, DATA, strict=True):
            imp = first[data]
            for axes, method in zip(row, ("imp", "oneshot"), strict=True):
                fields = connected(imp, results[imp], method, SHOWN)
                show(axes, fields, COLUMNS, f"{LABELS[method]}, {data}", COLOURS[method])
        figure.supxlabel("black: pruned; colour: the channels kept there; most connected unit first")
        return figure
