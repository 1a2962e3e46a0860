"""Fig. 7 of lufkin2024: two-layer networks whose second layer learns too."""

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure
from pandas import DataFrame
from scipy.stats import hypergeom

from prunefield.papers import OPEN, Frame, Item, Scale, Verdict, claim, gather, judge, numbers, replace_rows, rows
from prunefield.papers.lufkin2024._fields import NOISE
from prunefield.papers.lufkin2024._sigmoid import (
    SIGMOID,
    choose_sigmoid,
    describe_networks,
    find_too_few,
    is_diffuse,
    is_high,
    judge_high,
    judge_sigmoid,
)
from prunefield.papers.lufkin2024._units import (
    LEVEL,
    draw_units,
    imagine_units,
    judge_diffuse,
    judge_local,
    judge_low,
    judge_ranks,
    show_median_range,
    tabulate_units,
    whiten,
)
from prunefield.papers.lufkin2024.fig6 import SCM, train_committee
from prunefield.runs import Result, Run
from prunefield.runs.committee import Committee
from prunefield.runs.neuron import Neuron
from prunefield.tasks.kur import Kur
from prunefield.tasks.nlgp import Nlgp

RELUS = {hidden: f"two-layer, K = {hidden}, relu" for hidden in (100, 10)}  # of the authors' code, of the caption
CASES = [{"hidden": hidden} for hidden in RELUS]
STANDARD = replace_rows({"network": SIGMOID, "data": "Kur(4)"}, by={"network": SCM, "data": "Kur(10)"})
FOUR = 4  # units that the figure shows
# For each scale: networks, rate, batch and steps of the sigmoid networks; batch and steps of the ReLU network; batch of
# the neuron.
SIZES: dict[Scale, tuple[tuple[tuple[int, float, int, int], ...], tuple[int, int], int]] = {
    "smoke": (((2, 40.0, 500, 400),), (200, 1000), 200),
    "laptop": (((1, 80.0, 1000, 5000), (4, 40.0, 1000, 10_000)), (2000, 2000), 2000),
    "night": (((1, 80.0, 1000, 5000), (4, 40.0, 1000, 10_000)), (2000, 2000), 2000),
    "paper": (((1, 80.0, 1000, 5000), (10, 40.0, 1000, 10_000)), (5000, 2000), 10_000),
}
SEEDS = range(1, 9)  # of more sigmoid networks at the authors' rate, from night scale on; that of the others is 0


def judge_shown(good: np.ndarray, shown: int, what: str) -> Verdict:
    """Is it likely (5% or more) that at least `shown` of four units have a property that `good` of all units have?"""
    chance = float(hypergeom.sf(shown - 1, len(good), int(good.sum()), FOUR))
    first = f"{good[:FOUR].sum()} of the first {FOUR} units"
    seen = f"{what}: {first}, {good.sum()} of all {len(good)}; {shown} or more of {FOUR} random ones: P = {chance:.2f}"
    return judge(chance >= LEVEL, seen, len(good))


class Fig7(Item):
    """Figure 7 of lufkin2024: two-layer networks with a learnt second layer on Kur(4) and Kur(30) data."""

    title = "Two-layer networks with a learnt second layer on Kur(4) and Kur(30) data"
    size = (11, 6)
    scales = ("smoke", "laptop", "night", "paper")
    open_choices = (
        "N = 40, lengthscales 1 and 3, initial weights of scale 0.001, both biases are trained (the authors' code)",
        "output (v·σ(Wx+b) + c)/K with v = 1 + Glorot's noise, as in the authors' code; §2.1 has no 1/K",
        "sigmoid: K = 10, rate 80, batch 1,000, 5,000 steps (the authors' code), one network: of four with other "
        "initial weights at least one diverges, so more networks at rate 40, trained to the same time, were added; "
        "smoke scale: batch 500, 400 steps",
        "ReLU: K = 100, rate 0.5, batch 5,000, 2,000 steps (the authors' code); batch 2,000 at laptop scale, batch "
        "200 and 1,000 steps at smoke scale. The caption says K = 10: ten such networks are run as well, at rate "
        "0.05, so that each unit learns at the same rate",
        "the sign test of fig6; the frequency of a field is its mean wave number weighted by power; the limit N/4 "
        "for a high frequency was set before the frequencies of these networks were seen, the limit N/8 for a low "
        "one was not",
        "added: the ReLU network on Gaussian data (NLGP(0.01)) as a control, single neurons on Kur(30), and the soft "
        "committee of fig6 on Kur(10), which is the null of the first claim",
        "at rate 80 one network was examined first (8 of 10 units not local, p = 0.055), then four, one of which "
        "diverged; the verdict rests on rate 80. The rule that smoke scale, with a twenty-fifth of the training "
        "time, does not decide it was added after its fields had turned out local; nor does smoke scale decide "
        "whether most fields of the ReLU network are local",
        "from night scale on there are eight more sigmoid networks at rate 80 (seeds 1 to 8), each a run of its own, "
        "as 8 of 10 units decide too little, and they alone decide the claims on sigmoid units: the network of laptop "
        "scale (seed 0), which was known, is a note, like those at rate 40. Declared before any of the eight was run: "
        "a network has diverged if its loss or weights are not finite before its last step, or if its last loss is "
        "above 0.5, that of answering always 0 (or always 1); it is left out, the note says so, and none takes its "
        "place; with fewer than four left nothing is decided; criteria and tests stay those of laptop scale, with the "
        "sign test over the units of all networks, although those of one network are not independent",
        "the comparison with Gaussian data was added after the sign test had first failed",
        "the figure shows four units (in the authors' code the first four) of a network with random initial weights; "
        "claims about what it shows hold if four random units of ours would show it with a probability of 5% or "
        "more. They were added after the shares of all units were known; claims about all units remain",
        "the printed excess kurtosis (3.28, −1.17) is examined in kur-kurtosis",
    )

    def runs(self, scale: Scale) -> list[Run]:
        sigmoid, (relu_batch, relu_steps), neuron_batch = SIZES[scale]
        learnt = {"second": "learnt", "init_scale": 1e-3}
        _, rate, batch, steps = sigmoid[0]
        same = {"lr": rate, "batch_size": batch, "steps": steps, "diverging": "stop"}
        seeds = SEEDS if scale in ("night", "paper") else ()
        relu = {"activation": "relu", "batch_size": relu_batch, "steps": relu_steps}
        return [
            *(
                Committee(task=Kur(k=4.0), inits=inits, lr=rate, batch_size=batch, steps=steps, **learnt)
                for inits, rate, batch, steps in sigmoid
            ),
            *(Committee(task=Kur(k=4.0), seed=seed, **same, **learnt) for seed in seeds),
            *(
                Committee(task=task, hidden=hidden, inits=100 // hidden, lr=hidden / 200, **relu, **learnt)
                for hidden in RELUS
                for task in (Kur(k=30.0), Nlgp(g=0.01))
            ),
            Neuron(task=Kur(k=30.0), batch_size=neuron_batch, record_every=100),
            train_committee(10.0, scale),
        ]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return tabulate_units(results).join(gather(results, describe_networks, (Committee, Neuron)))

    def ideal(self) -> Frame:
        """High waves on Kur(4); on Kur(30) three of four ReLU units are local, but less than a neuron."""
        units = [*imagine_units(SIGMOID, "Kur(4)", 2.0, number=10, wave=0.3), *imagine_units(SCM, "Kur(10)", 10.0)]
        units += imagine_units("neuron", "Kur(30)", 8.0)
        for network in RELUS.values():
            units += [
                *imagine_units(network, "Kur(30)", 5.0, number=75),
                *imagine_units(network, "Kur(30)", 1.5, number=25),
            ]
            units += imagine_units(network, "NLGP(0.01)", 1.5, number=100)
        return DataFrame(units).assign(seed=0, finished=1)

    @claim(
        "The fields of a two-layer sigmoid network on Kur(4) data are not localised",
        at="Fig. 7 top; §4.4",
        expect="not localised; criterion: more units than expected by chance at IPR·N ≤ 3",
        null=STANDARD,
        decided_at="laptop",
    )
    def not_localised(table: Frame) -> Verdict:
        return judge_sigmoid(table, is_diffuse, judge_diffuse)

    @claim(
        "The fields of the sigmoid network look like high-frequency oscillations",
        at="Fig. 7 top; §4.4",
        expect="high frequency; criterion: a mean wave number above the N/4 of white noise",
        null=whiten,
        decided_at="laptop",
    )
    def high_frequencies(table: Frame) -> Verdict:
        return judge_sigmoid(table, is_high, judge_high)

    @claim(
        "Most fields of a two-layer ReLU network on Kur(30) data are localised (K = {hidden})",
        at="Fig. 7 bottom; §4.4",
        expect="3 of the 4 shown; criterion: more units than expected by chance above IPR·N = 3",
        null=replace_rows({"data": "Kur(30)"}, by={"data": "NLGP(0.01)"}),
        each=CASES,
        decided_at="laptop",
    )
    def localised(table: Frame, hidden: int) -> Verdict:
        note = (
            "On 40 sites a Gaussian bump with a full width at half maximum of 12.5 sites has IPR·N = 3, a wider one "
            "less."
        )
        return judge_local(rows(table, network=RELUS[hidden], data="Kur(30)"), note)

    @claim(
        "Of the four units shown, {shown} {what}",
        at="Fig. 7 {row}; §4.4",
        expect="{shown} of 4 (criterion: 4 random units of ours would show that with a probability of at least 5%)",
        null=replace_rows({"data": "Kur(30)"}, by={"data": "NLGP(0.01)"}),
        decided_at="laptop",
        each=[
            {"shown": 4, "what": "are not localised (sigmoid)", "row": "top", "null": STANDARD},
            {"shown": 4, "what": "have high frequencies (sigmoid)", "row": "top", "null": whiten},
            {"shown": 3, "what": "are localised (ReLU, K = 100)", "row": "bottom"},
            {"shown": 3, "what": "are localised (ReLU, K = 10)", "row": "bottom"},
        ],
    )
    def four_shown(table: Frame, shown: int, what: str, row: str) -> Verdict:
        if row == "bottom":
            hidden = int(what.rpartition(" ")[2].rstrip(")"))
            units = rows(table, network=RELUS[hidden], data="Kur(30)")
            return judge_shown(numbers(units, "ipr_n") > NOISE, shown, f"IPR·N above {NOISE:g}")
        units = choose_sigmoid(table)
        if few := find_too_few(table):
            return Verdict(OPEN, few, max(len(units), 1))
        if "high" in what:
            return judge_shown(is_high(units), shown, "mean wave number above N/4")
        return judge_shown(is_diffuse(units), shown, f"IPR·N at most {NOISE:g}")

    @claim(
        "Negative excess kurtosis makes the fields of the ReLU network more local (K = {hidden})",
        at="§4.4",
        expect="localisation is expected; criterion: more local than the same network on Gaussian data",
        null=replace_rows({"data": "Kur(30)"}, by={"data": "NLGP(0.01)"}),
        each=CASES,
    )
    def more_local_than_on_gaussian_data(table: Frame, hidden: int) -> Verdict:
        ours, gaussian = (
            numbers(rows(table, network=RELUS[hidden], data=data), "ipr_n") for data in ("Kur(30)", "NLGP(0.01)")
        )
        seen = f"IPR·N {show_median_range(ours)}; the same network on NLGP(0.01): {show_median_range(gaussian)}"
        return judge_ranks(ours, gaussian, seen)

    @claim(
        "The fields of the ReLU network are less local than that of a single neuron (K = {hidden})",
        at="§4.4",
        expect="less so than for a single neuron",
        null=replace_rows(
            {"network": tuple(RELUS.values()), "data": "Kur(30)"}, by={"network": "neuron", "data": "Kur(30)"}
        ),
        each=CASES,
    )
    def less_local_than_one_neuron(table: Frame, hidden: int) -> Verdict:
        single, many = (
            numbers(rows(table, network=network, data="Kur(30)"), "ipr_n") for network in ("neuron", RELUS[hidden])
        )
        return judge_ranks(
            single, many, f"IPR·N of single neurons {show_median_range(single)}; of the units {show_median_range(many)}"
        )

    @claim(
        "Fields of the ReLU network that are not localised are low-frequency oscillations (K = {hidden})",
        at="Fig. 7 bottom right; §4.4",
        expect="low frequency; criterion: a mean wave number below N/8 (white noise has N/4)",
        null=whiten,
        each=CASES,
    )
    def low_frequencies(table: Frame, hidden: int) -> Verdict:
        units = rows(table, network=RELUS[hidden], data="Kur(30)")
        return judge_low(units[units["ipr_n"] <= NOISE])

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        """Networks that diverged have no fields to show."""
        finished: dict[Run, Result] = {
            run: result
            for run, result in results.items()
            if isinstance(run, Committee | Neuron) and describe_networks(run, result)[0]["finished"]
        }
        draw_units(figure, finished, shown=FOUR)
