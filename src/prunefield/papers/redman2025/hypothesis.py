"""Hypothesis H* of redman2025 on one page: its evidence, and a pruning method that maximises only the kurtosis."""

from collections.abc import Mapping
from dataclasses import replace

import pandas
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from prunefield.core.figures import letter_panels
from prunefield.papers import Frame, Scale, Verdict, gather, judge, numbers, rows
from prunefield.papers._kit import Row
from prunefield.papers.redman2025._cavities import CAVITY_CHOICE, cavities, name_next, read_next
from prunefield.papers.redman2025._curves import (
    LOCAL,
    clone_as_data,
    correlate_ranks,
    curve,
    imp_as_random,
    judge_clone_width,
    judge_kurtosis_gap,
)
from prunefield.papers.redman2025._fates import READING_CHOICE, READINGS, judge_readings
from prunefield.papers.redman2025._greedy import (
    MOST,
    OPEN,
    RAISED,
    judge_first_rise,
    judge_localisation,
    judge_rise,
    widen_greedy,
)
from prunefield.papers.redman2025._ideal import ROUNDS, Case, fill_table, trace_curves
from prunefield.papers.redman2025._intervals import INTERVAL_CHOICE, add_intervals, explain_band
from prunefield.papers.redman2025._nets import (
    CLONE_SEEDS,
    DATA,
    SCALES,
    SHARED_CHOICES,
    claim_on_nets,
    data_of,
    greedy_runs,
    inputs_of,
    kurtoses,
    make_row,
    nets,
    widths,
)
from prunefield.papers.redman2025._parts import NetItem
from prunefield.papers.redman2025._pictures import GOALS, data_in, draw_evidence, draw_greedy_masks, fit_height
from prunefield.runs import Result, Run
from prunefield.runs.greedy import Greedy
from prunefield.runs.imp import METHODS
from prunefield.runs.kurtosis import Kurtosis
from prunefield.runs.widths import Widths

TOGETHER = -0.9  # rank correlation over rounds
COLUMNS = {
    Widths: {"method": "method", "density": "density", "width": "median_x_top"},
    Kurtosis: {"method": "method", "kurtosis": "within"},
    Greedy: {"density": "density", "width": "median_x_top", "kurtosis": "within", "own": "scored"},
}
NEXT = {name_next(name, by): score for name in READINGS for by, score in (("fate", 0.3), ("shuffled", -0.02))}
KEYS = ["data", "inputs", "seed", "method", "round"]


def next_as_shuffled(table: Frame) -> Frame:
    """The null: scores that do not depend on when a weight is pruned."""
    return table.assign(**{name_next(name): table[name_next(name, "shuffled")] for name in READINGS})


class Hypothesis(NetItem):
    """H*: IMP finds local fields by maximally raising the kurtosis of pre-activations (redman2025, Sec. 1, 3 and 4)."""

    title = "Hypothesis H*: localisation and the kurtosis of pre-activations under iterative pruning"
    size = (16, 5.2 * len(DATA))
    scales = SCALES
    from_values = True
    open_choices = (
        *SHARED_CHOICES,
        CAVITY_CHOICE,
        READING_CHOICE,
        "The paper calls a search for the best weights infeasible. Greedy pruning does what H* says that IMP does: "
        "at θ(rewind)⊙m(n) it removes as many first-layer weights as IMP, those with the highest scores. It "
        "maximises the kurtosis itself, with 20 scoring passes in all (greedy), or eq. 5, which lowers a kurtosis "
        "below 3, with one scoring pass per round as IMP prunes (cavity; corrected as in the claims, and so changed "
        "before any laptop result of this item was published). It scores with training images and is "
        "measured on the held-out images of Fig. 4B, so that it cannot profit from chance. It is not an upper bound: "
        "the optimum can only be better.",
        f"{CLONE_SEEDS} The same holds for greedy pruning, which is compared with IMP on its own seeds. At night scale "
        "it prunes the net of seed 2 and not that of seed 0, which was changed before it was run there: of seeds 0 and "
        "1 only values had been kept.",
        INTERVAL_CHOICE,
        f"'Maximally' means: IMP reaches {MOST} of the rise over random masks that the better greedy method reaches, "
        "in every seed, at the last round. Width: median σx of the most connected units, as in Fig. 3C.",
        "The claim on the first round and its criterion were added after the numbers of that round had been seen: "
        "Sec. 1 says that IMP maximises the statistics at each round, and only the first begins with the same weights.",
        "Since the laptop results, greedy pruning counts in (d) only where it raises the held-out kurtosis by at least "
        f"{RAISED} of IMP's rise (as to localisation, `greedy` alone), or shows that IMP's is not maximal. With the 50 "
        "images per class of tiny-imagenet at laptop scale it does not; until this was noticed, IMP was called maximal "
        "there. At night scale it has 250, which was set for this reason, before it was run there. All other "
        "criteria were written before greedy pruning had been run. The numbers of images and scoring passes were "
        "raised after the first smoke result: one pass per round with 100 images per class gave 4.3 on those images "
        "and 2.88, the value of random masks, on others (leaves).",
    )

    def runs(self, scale: Scale) -> list[Run]:
        fields = widths(scale, (*nets(scale), *nets(scale, clone=True)))
        return [*cavities(scale), *kurtoses(scale), *fields, *greedy_runs(scale)]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        """One row per data set, kind of inputs, seed, method and round; next: N_W times the next group's score."""

        def read(run: Widths | Kurtosis | Greedy, result: Result) -> list[Row]:
            more = {"inputs": inputs_of(run.of.task)} | ({"method": GOALS[run.goal]} if isinstance(run, Greedy) else {})
            return [make_row(run.of, record, "round", **COLUMNS[type(run)]) | more for record in result.records]

        after = read_next(results).assign(method="imp", inputs="data")
        parts = [gather(results, read, kind) for kind in (Widths, Kurtosis, Greedy)]
        table = pandas.concat([*parts, after]).groupby(KEYS, as_index=False).first()
        return add_intervals(table, ("width", "kurtosis"), ("data", "inputs", "method", "round"))

    def ideal(self) -> Frame:
        """Figs 3 to 5 as printed, and greedy methods that reach what IMP reaches, and no more."""

        def fill(case: Case) -> Case:
            found = trace_curves(case)
            scored = (case["inputs"], case["method"]) == ("data", "imp") and case["round"] < ROUNDS
            return found | {"own": found["kurtosis"]} | (NEXT if scored else {})

        return fill_table(fill, inputs=("data", "clone"), method=(*METHODS, *GOALS.values()), round=range(ROUNDS + 1))

    @claim_on_nets(
        "(a) Non-Gaussian inputs are necessary: fields are wider on the Gaussian clone",
        at="Sec. 1 and 3.1, Fig. 3C",
        expect="the smallest median width on the clone is above the largest on the data",
        null=clone_as_data,
        needs={"inputs": "clone"},
    )
    def wider_on_clone(table: Frame) -> Verdict:
        return judge_clone_width(table)

    @claim_on_nets(
        "(b) IMP leads to greater kurtosis than one-shot pruning",
        at="Sec. 1 and 3.2, Fig. 4B",
        expect="above that of one-shot pruning and of random masks, in every seed, from some round to the end",
        null=imp_as_random,
    )
    def greater_kurtosis(table: Frame) -> Verdict:
        return judge_kurtosis_gap(rows(table, inputs="data"))

    @claim_on_nets(
        "(b) Over IMP's rounds, fields become narrower as the kurtosis rises",
        at="Sec. 1 and 3.2 (feedback loop)",
        expect=f"rank correlation of kurtosis and width at most {TOGETHER} in every seed",
        null=imp_as_random,
    )
    def together(table: Frame) -> Verdict:
        width, kurtosis = (curve(rows(table, inputs="data"), "imp", name) for name in ("width", "kurtosis"))
        found = [correlate_ranks(width[seed], kurtosis[seed]) for seed in width]
        return judge(
            max(found) <= TOGETHER, f"rank correlations {min(found):+.2f} to {max(found):+.2f}", 2 * width.size
        )

    @claim_on_nets(
        "(c) IMP removes weights precisely when their removal raises the non-Gaussianity",
        at="Sec. 1 and 3.3, Fig. 5C",
        expect="the next group's mean cavity score is positive in every round and seed",
        null=next_as_shuffled,
    )
    def next_is_positive(table: Frame) -> Verdict:
        imp = rows(table, inputs="data", method="imp").dropna(subset=["next"])
        if imp.empty:  # random masks have no fates
            return judge(False, "0 scores", 1)

        def measure(name: str) -> tuple[bool, str]:
            scores, chance = (numbers(imp, name_next(name, by)) for by in ("fate", "shuffled"))
            good, means = (scores > 0).sum(), f"{scores.mean():+.4f}, fates shuffled {chance.mean():+.4f}"
            return bool(good == scores.size), f"{good} of {scores.size} positive, mean {means}"

        return judge_readings(measure, len(imp))

    @claim_on_nets(
        "(d) IMP increases the kurtosis maximally",
        at="Sec. 1 (H*), 3.3 and 4; our control",
        expect=f"(κ_IMP − κ_random)/(κ_greedy − κ_random) at least {MOST} in every seed, where that rise by greedy "
        f"pruning is at least {RAISED} of IMP's",
        null=imp_as_random,
        needs={"method": "greedy"},
    )
    def maximal(table: Frame) -> Verdict:
        return judge_rise(table)

    @claim_on_nets(
        "(d) In the first round, IMP increases the kurtosis maximally",
        at="Sec. 1 (at each round); our control",
        expect=f"the same share after round 1, which all methods begin with the same weights, at least {MOST} in every "
        "seed, where greedy pruning rises by more than random masks vary over the rounds",
        null=imp_as_random,
        needs={"method": "greedy"},
    )
    def maximal_at_first(table: Frame) -> Verdict:
        return judge_first_rise(table)

    @claim_on_nets(
        "(d) Increasing the kurtosis is enough to localise",
        at="Sec. 1 (H*: 'by') and 4 (new pruning algorithms); our control",
        expect=f"greedy pruning has below {LOCAL} times the width of random masks, in every seed, where its rise in "
        f"kurtosis is at least {RAISED} of IMP's",
        null=widen_greedy,
        needs={"method": "greedy"},
    )
    def enough(table: Frame) -> Verdict:
        return judge_localisation(table)

    @claim_on_nets(
        "H* as a whole: IMP finds local fields by maximally raising the kurtosis",
        at="Sec. 1 (H*)",
        expect="all of (a) to (d)",
        null=imp_as_random,
    )
    def whole(table: Frame) -> Verdict:
        (data,) = data_in(table)
        parts = [part for part in Hypothesis.claims if part.text.startswith("(") and part.text.endswith(f"({data})")]
        found = [part.check(table) for part in parts if part.concerns(table)]
        good, bad = (sum(one.status == status for one in found) for status in ("reproduced", "not reproduced"))
        seen, n = f"of {len(parts)} parts, {good} hold and {bad} fail", sum(verdict.n for verdict in found)
        verdict = judge(good == len(parts), seen, n)
        return verdict if bad or good == len(parts) else replace(verdict, status=OPEN)

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        names = fit_height(figure, table)
        grid = figure.add_gridspec(2 * len(names), 4, height_ratios=(1.7, 1) * len(names))
        lettered: list[Axes] = []
        greedy = [run for run in results if isinstance(run, Greedy)]
        for place, data in enumerate(names):
            panels = [figure.add_subplot(grid[2 * place, column]) for column in range(4)]
            draw_evidence(panels, rows(table, data=data), data)
            lettered.extend(panels)
            found = [run for run in greedy if data_of(run.of.task) == data]
            first = min((run.of.seed for run in found), default=0)
            for column, run in enumerate(run for run in found if run.of.seed == first):
                axes = figure.add_subplot(grid[2 * place + 1, 2 * column : 2 * column + 2])
                draw_greedy_masks(axes, run, results[run])
        explain_band(lettered[0])
        letter_panels(lettered)
        figure.legend(*lettered[0].get_legend_handles_labels(), loc="outside upper left", ncols=4)
        figure.legend(*lettered[3].get_legend_handles_labels(), loc="outside upper right", ncols=2)
