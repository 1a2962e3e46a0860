"""Fig. S3 of redman2025: kurtosis of the second layer's pre-activations against density."""

from collections.abc import Iterator, Mapping

from matplotlib.figure import Figure

from prunefield.core.figures import add_legend, letter_panels
from prunefield.papers import Frame, Scale, Verdict, gather, judge, replace_rows, rows
from prunefield.papers._kit import Row
from prunefield.papers.redman2025._curves import curve, imp_as_random
from prunefield.papers.redman2025._ideal import ROUNDS, Case, fill_table, trace_kurtosis
from prunefield.papers.redman2025._intervals import INTERVAL_CHOICE, add_intervals, explain_band
from prunefield.papers.redman2025._nets import DATA, SCALES, SHARED_CHOICES, claim_on_nets, kurtoses, make_row
from prunefield.papers.redman2025._parts import NetItem
from prunefield.papers.redman2025._pictures import draw_gaussian_kurtosis, draw_methods, split_panels
from prunefield.runs import Result, Run
from prunefield.runs.imp import METHODS
from prunefield.runs.kurtosis import Kurtosis

SLIGHT = 0.5  # "slightly decreases": by at most this share of the rise before
PLATEAU = 0.9  # a plateau begins where this share of the rise to the maximum is reached


def find_plateau(table: Frame, layer: int) -> int:
    """The round from which IMP's kurtosis, averaged over seeds, has nearly all of its rise."""
    values = curve(rows(table, layer=layer), "imp", "kurtosis").mean(axis=1)
    line = values.iloc[0] + PLATEAU * (values.max() - values.iloc[0])
    return int((values >= line).idxmax())


def still_rising(table: Frame) -> Frame:
    """The null: a kurtosis that never falls, with each seed's values in ascending order."""
    places = ["data", "layer", "method", "seed"]
    ordered = table.sort_values([*places, "round"], ignore_index=True)
    return ordered.assign(kurtosis=ordered.sort_values([*places, "kurtosis"])["kurtosis"].to_numpy())


class FigS3(NetItem):
    """Kurtosis of λ in the second hidden layer under three pruning methods (redman2025, Fig. S3, eq. 7 and App. D)."""

    title = "Kurtosis of the second layer's pre-activations against density"
    size = (9, 3.8 * len(DATA))
    scales = SCALES
    from_values = True
    open_choices = (
        *SHARED_CHOICES,
        "Batch norm, where a net has it: the moments of the masked net's activity, recomputed for each mask; those of "
        "the dense net would belong to a different net. Images as in Fig. 4B.",
        INTERVAL_CHOICE,
        f"Criteria, set before any result was seen: 'increases' from the first round to the last by more than random "
        f"masks vary, in every seed; 'slightly' at most {SLIGHT} of the rise; a plateau begins where {PLATEAU} of the "
        "rise to the maximum is reached, mean over seeds.",
    )

    def runs(self, scale: Scale) -> list[Run]:
        return [*kurtoses(scale, layer=0), *kurtoses(scale, layer=1)]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        """One row per data set, layer, seed, method and round; layers are counted from 1."""

        def measure(run: Kurtosis, result: Result) -> Iterator[Row]:
            names = ("method", "round", "density", "pooled", "gaussian", "bare")
            for record in result.records:
                yield {**make_row(run.of, record, *names, kurtosis="within"), "layer": run.layer + 1}

        table = gather(results, measure, Kurtosis)
        return add_intervals(table, ("kurtosis",), ("data", "layer", "method", "round"))

    def ideal(self) -> Frame:
        """Layer 1 as in Fig. 4B; layer 2 is at its plateau after four rounds and falls slightly from round 7 on."""

        def fill(case: Case) -> Case:
            n, kurtosis = case["round"], trace_kurtosis(case)
            if case["layer"] == 2 and case["method"] != "random":
                kurtosis = 3 + 0.2 * min(4, n) - 0.05 * max(0, n - 6)
            return {"kurtosis": kurtosis}

        return fill_table(fill, layer=(1, 2), method=METHODS, round=range(ROUNDS + 1))

    @claim_on_nets(
        "The kurtosis in the second layer increases with IMP's rounds",
        at="Sec. 3.2, App. D, Fig. S3",
        expect="the last value is above the first by more than random masks vary, in every seed",
        null=imp_as_random,
    )
    def grows(table: Frame) -> Verdict:
        imp, chance = (curve(rows(table, layer=2), method, "kurtosis") for method in ("imp", "random"))
        first, last, spread = imp.iloc[0], imp.iloc[-1], (chance.max() - chance.min()).max()
        grown = f"by {(last - first).min():+.3f} in the weakest seed"
        observed = f"from {first.mean():.3f} to {last.mean():.3f}, {grown}"
        return judge((last - first > spread).all(), observed, imp.size, f"random masks vary by up to {spread:.3f}")

    @claim_on_nets(
        "The kurtosis in the second layer slightly decreases at higher rounds",
        at="App. D, Fig. S3",
        expect=f"in every seed the last value is below the maximum, by at most {SLIGHT} of the rise",
        null=still_rising,
    )
    def falls_slightly(table: Frame) -> Verdict:
        imp = curve(rows(table, layer=2), "imp", "kurtosis")
        drop, rise = imp.max() - imp.iloc[-1], imp.max() - imp.iloc[0]
        top = ", ".join(str(int(n)) for n in imp.idxmax())
        observed = f"maximum {imp.max().mean():.3f} at rounds {top} of the seeds, last {imp.iloc[-1].mean():.3f}"
        return judge(((drop > 0) & (drop <= SLIGHT * rise)).all(), observed, imp.size)

    @claim_on_nets(
        "The kurtosis reaches its plateau earlier in the second layer than in the first",
        at="App. D, Figs S3 and 4B",
        expect=f"{100 * PLATEAU:.0f}% of the rise to the maximum in an earlier round",
        null=replace_rows({"layer": 2}, by={"layer": 1}),
    )
    def earlier_plateau(table: Frame) -> Verdict:
        first, second = find_plateau(table, 1), find_plateau(table, 2)
        observed = f"{100 * PLATEAU:.0f}% of the rise: layer 1 at round {first}, layer 2 at round {second}"
        return judge(second < first, observed, 2 * table["round"].nunique())

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        for data, part, panels in split_panels(figure, table, 2):
            for axes, layer in zip(panels, (2, 1), strict=True):
                mine = rows(part, layer=layer)
                draw_methods(axes, mine, "kurtosis")
                draw_gaussian_kurtosis(axes, mine["gaussian"].iloc[0])
                axes.set_ylabel("kurtosis of\npre-activations, per class")
                axes.set_title(f"{data}, layer {layer}")
        letter_panels(figure.axes)
        explain_band(figure.axes[0])
        add_legend(figure, figure.axes[:1], ncols=3)
