"""Fig. S3 of redman2025: kurtosis of the second layer's pre-activations against density."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from prunefield.papers import Claim, Item, Scale, Verdict
from prunefield.papers._rows import rows
from prunefield.papers.redman2025._claims import judge, on_each
from prunefield.papers.redman2025._fig4_checks import curve, imp_as_random
from prunefield.papers.redman2025._ideal import ROUNDS, Case, fill_table, trace_kurtosis
from prunefield.papers.redman2025._intervals import INTERVAL_CHOICE, add_intervals, draw_mean
from prunefield.papers.redman2025._nets import DATA, PER_CLASS, SHARED_CHOICES, data_of, nets
from prunefield.papers.redman2025._pictures import COLOURS, LABELS
from prunefield.runs import Result, Run
from prunefield.runs.imp import METHODS
from prunefield.runs.kurtosis import Kurtosis

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

SLIGHT = 0.5  # "slightly decreases": by at most this share of the rise before
PLATEAU = 0.9  # a plateau begins where this share of the rise to the maximum is reached


def check_growth(table: "DataFrame") -> Verdict:
    imp, chance = (curve(rows(table, layer=2), method, "kurtosis") for method in ("imp", "random"))
    grown = imp.iloc[-1] - imp.iloc[0]
    spread = float((chance.max() - chance.min()).max())
    observed = f"from {imp.iloc[0].mean():.3f} to {imp.iloc[-1].mean():.3f}, by {grown.min():+.3f} in the weakest seed"
    return judge(bool((grown > spread).all()), observed, imp.size, f"random masks vary by up to {spread:.3f}")


def check_decrease(table: "DataFrame") -> Verdict:
    imp = curve(rows(table, layer=2), "imp", "kurtosis")
    drop, rise = imp.max() - imp.iloc[-1], imp.max() - imp.iloc[0]
    good = bool(((drop > 0) & (drop <= SLIGHT * rise)).all())
    top = [int(n) for n in imp.idxmax()]
    observed = f"maximum {imp.max().mean():.3f} at rounds {top}, last {imp.iloc[-1].mean():.3f}"
    return judge(good, observed, imp.size)


def plateau(table: "DataFrame", layer: int) -> int:
    """The round from which IMP's kurtosis, averaged over seeds, has nearly all of its rise."""
    values = curve(rows(table, layer=layer), "imp", "kurtosis").mean(axis=1)
    line = values.iloc[0] + PLATEAU * (values.max() - values.iloc[0])
    return int((values >= line).idxmax())


def check_plateau(table: "DataFrame") -> Verdict:
    first, second = plateau(table, 1), plateau(table, 2)
    observed = f"{100 * PLATEAU:.0f} % of the rise: layer 1 at round {first}, layer 2 at round {second}"
    return judge(second < first, observed, 2 * len(curve(rows(table, layer=1), "imp", "kurtosis")))


def still_rising(table: "DataFrame") -> "DataFrame":
    """The table with a kurtosis that never falls: each seed's values in ascending order."""
    places = ["data", "layer", "method", "seed"]
    ordered = table.sort_values([*places, "round"], ignore_index=True)
    return ordered.assign(kurtosis=ordered.sort_values([*places, "kurtosis"])["kurtosis"].to_numpy())


def second_as_first(table: "DataFrame") -> "DataFrame":
    """The table with the first layer instead of the second."""
    import pandas

    first = rows(table, layer=1)
    return pandas.concat([first, first.assign(layer=2)], ignore_index=True)


class FigS3(Item):
    """Kurtosis of λ in the second hidden layer under three pruning methods (redman2025, Fig. S3, eq. 7 and App. D)."""

    title: ClassVar[str] = "Kurtosis of the second layer's pre-activations against density"
    open_choices: ClassVar[tuple[str, ...]] = (
        *SHARED_CHOICES,
        "Batch norm (paper scale): the moments of the masked net's activity, recomputed for each mask; those of the "
        "dense net would belong to a different net. Images as in Fig. 4B.",
        INTERVAL_CHOICE,
        f"Criteria, set before any result was seen: 'increases' from the first round to the last by more than random "
        f"masks vary, in every seed; 'slightly' at most {SLIGHT} of the rise; a plateau begins where {PLATEAU} of the "
        "rise to the maximum is reached, mean over seeds.",
    )
    claims: ClassVar[tuple[Claim, ...]] = on_each(
        Claim(
            "The kurtosis in the second layer increases with IMP's rounds",
            "Sec. 3.2, App. D, Fig. S3",
            "the last value is above the first by more than random masks vary, in every seed",
            check_growth,
            imp_as_random,
            decided_at="laptop",
        ),
        Claim(
            "The kurtosis in the second layer slightly decreases at higher rounds",
            "App. D, Fig. S3",
            f"in every seed the last value is below the maximum, by at most {SLIGHT} of the rise",
            check_decrease,
            still_rising,
            decided_at="laptop",
        ),
        Claim(
            "The kurtosis reaches its plateau earlier in the second layer than in the first",
            "App. D, Figs S3 and 4B",
            f"{100 * PLATEAU:.0f} % of the rise to the maximum in an earlier round",
            check_plateau,
            second_as_first,
            decided_at="laptop",
        ),
    )

    def runs(self, scale: Scale) -> list[Run]:
        imps = [imp for data in DATA for imp in nets(scale, data)]
        return [Kurtosis(of=imp, per_class=PER_CLASS[scale], layer=layer) for layer in (0, 1) for imp in imps]

    def table(self, results: Mapping[Run, Result]) -> "DataFrame":
        """One row per data set, layer, seed, method and round; layers are counted from 1."""
        import pandas

        found = []
        for run in (run for run in results if isinstance(run, Kurtosis)):
            for record in results[run].records:
                place = {"data": data_of(run.of), "layer": run.layer + 1, "seed": run.of.seed}
                kept = {name: record[name] for name in ("method", "round", "density", "pooled", "gaussian", "bare")}
                found.append(place | kept | {"kurtosis": record["within"]})
        return add_intervals(pandas.DataFrame(found), ("kurtosis",), ("data", "layer", "method", "round"))

    def ideal(self) -> "DataFrame":
        """Layer 1 as in Fig. 4B; layer 2 is at its plateau after four rounds and falls slightly from round 7 on."""

        def fill(case: Case) -> Case:
            n, kurtosis = case["round"], trace_kurtosis(case)
            if case["layer"] == 2 and case["method"] != "random":
                kurtosis = 3 + 0.2 * min(4, n) - 0.05 * max(0, n - 6)
            return {"kurtosis": kurtosis}

        return fill_table(fill, layer=(1, 2), method=METHODS, round=range(ROUNDS + 1))

    def draw(self, table: "DataFrame", results: Mapping[Run, Result]) -> "Figure":
        from matplotlib.figure import Figure

        figure = Figure(figsize=(9, 3.5 * len(DATA)), layout="constrained")
        grid = figure.subplots(len(DATA), 2, squeeze=False)
        for panels, data in zip(grid, DATA, strict=True):
            for axes, layer in zip(panels, (2, 1), strict=True):
                _draw(axes, rows(table, data=data, layer=layer))
                axes.set_title(f"{data}, layer {layer}", loc="left", fontweight="bold")
        grid[0][0].legend()
        return figure


def _draw(axes: "Axes", table: "DataFrame") -> None:
    for method in METHODS:
        density = curve(table, method, "density").mean(axis=1).to_list()
        draw_mean(axes, density, curve(table, method, "kurtosis"), COLOURS[method], LABELS[method])
    axes.axhline(table["gaussian"].iloc[0], color="grey", linestyle=":", label="Gaussian")
    axes.set_xscale("log")
    axes.invert_xaxis()
    axes.set_xlabel("density")
    axes.set_ylabel("kurtosis of pre-activations, per class")
