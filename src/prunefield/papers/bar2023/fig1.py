"""Fig. 1 of bar2023: initial weights and scores kept by uniform, SynFlow and iterative masks."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from pandas import DataFrame
from torch import Tensor

from prunefield.networks.vgg import Vgg
from prunefield.papers import Frame, Item, Scale, Verdict, claim, gather, judge, numbers, replace_rows, rows
from prunefield.papers._kit import BLACK, BLUE, GREEN, GREY, ORANGE, VERMILION, Row
from prunefield.papers.bar2023._experiments import STREAM
from prunefield.runs import Result, Run
from prunefield.runs.pruned import Pruned
from prunefield.runs.tickets import Tickets
from prunefield.scores.magnitude import Magnitude
from prunefield.scores.random import Random
from prunefield.scores.synflow import Synflow
from prunefield.tasks.cifar10 import Cifar10
from prunefield.training.recipe import Recipe

UNIFORM, SYNFLOW, DRAWN, LAST, IMP = "uniform", "SynFlow", "SynFlow, sampled", "SynFlow, sampled last", "IMP"
NAMES = {  # by score, and when the mask is sampled
    ("random", "never"): UNIFORM,
    ("synflow", "never"): SYNFLOW,
    ("synflow", "every"): DRAWN,
    ("synflow", "last"): LAST,
    ("magnitude", "never"): IMP,
}
COLOURS = {UNIFORM: GREY, SYNFLOW: BLUE, DRAWN: VERMILION, LAST: ORANGE, IMP: GREEN}
SIZES: dict[Scale, dict[str, Any]] = {
    "smoke": {"task": STREAM, "images": 256, "net": Vgg(width=4, stages=(1, 1, 1))},
    "laptop": {
        "task": Cifar10(limit=4_000, standardise="channel"),
        "net": Vgg(width=16, stages=(1, 1, 1, 1, 1)),
    },
    "night": {
        "task": Cifar10(side=16, limit=5_000, standardise="channel"),
        "net": Vgg(width=16, stages=(1, 1, 1, 1)),
    },
    "paper": {"task": Cifar10(standardise="channel"), "net": Vgg(width=64)},
}
LEARNT: dict[Scale, dict[str, Any]] = {
    "smoke": {"recipe": Recipe(epochs=1, batch_size=64), "levels": 2, "rewind": 1, "held_out": 200},
    "laptop": {"recipe": Recipe(epochs=4), "levels": 5, "rewind": 20, "held_out": 1_000},
    "night": {"recipe": Recipe(pad=2, channels_last=True), "levels": 14, "rewind": 100, "held_out": 1_000},
    "paper": {"recipe": Recipe(), "levels": 14, "rewind": 1_000},
}
DENSITY = 0.05
SHOWN = {"paper": 20_000}  # weights and scores whose mean is taken, where not all of them are
READINGS = [{"mask": DRAWN, "reading": "in every iteration"}, {"mask": LAST, "reading": "in the last iteration"}]


def name_mask(run: Pruned) -> str:
    return NAMES[run.score.kind(), run.sample]


def find_scores(results: Mapping[Run, Result], seed: int) -> Tensor:
    """SynFlow's scores of the weights shown, which are the same weights for all masks of a seed."""
    runs = (run for run in results if isinstance(run, Pruned) and name_mask(run) == SYNFLOW and run.seed == seed)
    return results[next(runs)].records[0].tensors["scores"]


def use_uniform_masks(table: Frame) -> Frame:
    """The null: every mask keeps what a uniform one keeps."""
    for mask in (SYNFLOW, DRAWN, LAST, IMP):
        table = replace_rows({"mask": mask}, by={"mask": UNIFORM})(table)
    return table


def judge_larger(table: Frame, first: str, second: str, name: str) -> Verdict:
    """Is a mask's value above another's, for every seed?"""
    found = {mask: numbers(rows(table, mask=mask), name) for mask in (first, second)}
    seen = "; ".join(f"{mask} {', '.join(f'{value:.3f}' for value in values)}" for mask, values in found.items())
    return judge((found[first] > found[second]).all(), seen, sum(map(len, found.values())))


class Fig1(Item):
    """Initial weights kept by uniform, SynFlow and IMP masks of VGG, and SynFlow's scores (bar2023, Fig. 1)."""

    title = "Magnitudes and scores of the initial weights that masks keep"
    size = (10, 4.6)
    scales = ("smoke", "laptop", "night", "paper")
    open_choices = (
        "The paper does not state the layers and densities of Fig. 1; here: all layers together, density 5%. "
        "Weights of different layers have different standard deviations, so a mask that prefers some layers prefers "
        "large weights; `bias` is the mean |w0| of kept weights relative to that of all weights, `within` relative "
        "to that of their own layers.",
        "VGG-19 at paper scale; at laptop scale VGG with one layer per stage, width 16, on 4,000 images of CIFAR-10, "
        "IMP with 5 levels of 4 epochs, which is too short to count as IMP: the less a network is trained, the "
        "closer its weights stay to their initial values. Night scale has 14 levels of the paper's 160 epochs (it does "
        "not say how many levels), in VGG with four layers on 5,000 images of 16 × 16 pixels. Two seeds.",
        "SynFlow's scores are those of the network before pruning, averaged over all kept weights (at paper scale over "
        "20,000 chosen at random). The mask is sampled in every iteration or only in the last; the paper does not say "
        "which, so both are judged.",
    )

    def runs(self, scale: Scale) -> list[Run]:
        """The five masks of two seeds; nothing is trained but what IMP trains."""
        size, iterations = SIZES[scale], 10 if scale == "smoke" else 100
        masks = []
        for seed in range(2):
            masks += [{"score": Random(), "seed": seed}]
            masks += [
                {"score": Synflow(), "inputs": "ones", "iterations": iterations, "sample": sample, "seed": seed}
                for sample in ("never", "every", "last")
            ]
            tickets = Tickets(density=DENSITY, seed=seed, **size, **LEARNT[scale])
            masks += [{"score": Magnitude(), "of": tickets, "seed": seed}]
        shared = size | {"recipe": Recipe(epochs=0), "density": DENSITY, "shown": SHOWN.get(scale, 10**7)}
        return [Pruned.model_validate(shared | mask) for mask in masks]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        """One row per mask and seed; `score` is the mean SynFlow score of kept weights relative to that of all."""

        def describe(run: Pruned, result: Result) -> list[Row]:
            record, scores = result.records[0], find_scores(results, run.seed)
            share = float(scores[record.tensors["chosen"]].mean() / scores.mean())
            found = {"kept": record["kept"], "bias": record["bias"], "within": record["bias_within"]}
            found |= {"emptied": record["emptied"], "score": share}
            return [{"mask": name_mask(run), "seed": run.seed, **found}]

        return gather(results, describe, Pruned).sort_values(["mask", "seed"], ignore_index=True)

    def ideal(self) -> Frame:
        """Fig. 1a: large weights with IMP, larger ones with SynFlow; Fig. 1b: large scores, largest if not sampled."""
        found = {UNIFORM: (1.0, 1.0), IMP: (1.5, 2.0), DRAWN: (1.8, 5.0), LAST: (1.8, 5.0), SYNFLOW: (2.0, 10.0)}
        kept = [(mask, seed, bias, bias, score) for mask, (bias, score) in found.items() for seed in range(2)]
        return DataFrame(kept, columns=["mask", "seed", "bias", "within", "score"])

    # Smoke scale decides only whether SynFlow's masks differ from uniform ones: after a few training steps IMP keeps
    # large initial weights whatever it would learn, and ten iterations of SynFlow are not a hundred.
    @claim(
        "{mask} keeps larger weights than a uniform mask",
        at="Fig. 1a, Sec. 8",
        expect="mean |w0| of kept weights ({mask}) above that of uniform masks, in every seed",
        null=use_uniform_masks,
        each=[{"mask": SYNFLOW}, {"mask": IMP, "decided_at": "night"}],
    )
    def larger_weights_than_uniform(table: Frame, mask: str) -> Verdict:
        return judge_larger(table, mask, UNIFORM, "bias")

    @claim(
        "{text}",
        at="Fig. 1a{source}",
        expect="mean |w0| of kept weights{of} (SynFlow) above that of IMP, in every seed",
        null=replace_rows({"mask": SYNFLOW}, by={"mask": IMP}),
        decided_at="night",
        each=[
            {
                "text": "SynFlow is more biased towards large weights than IMP",
                "source": ", Sec. 8",
                "name": "bias",
                "of": "",
            },
            {
                "text": "SynFlow is also more biased than IMP towards large weights within layers",
                "source": " (not in the paper)",
                "name": "within",
                "of": " relative to their layers",
            },
        ],
    )
    def larger_weights_than_with_imp(table: Frame, name: str, **_: str) -> Verdict:
        return judge_larger(table, SYNFLOW, IMP, name)

    @claim(
        "A sampled mask keeps lower scores than SynFlow's own mask ({reading})",
        at="our reading of Fig. 1b",
        expect="mean score of kept weights (SynFlow) above that of sampled masks, in every seed",
        null=replace_rows({"mask": (DRAWN, LAST)}, by={"mask": SYNFLOW}),
        decided_at="laptop",
        each=READINGS,
    )
    def lower_scores_if_sampled(table: Frame, mask: str, reading: str) -> Verdict:
        return judge_larger(table, SYNFLOW, mask, "score")

    @claim(
        "A sampled mask still prefers large scores ({reading})",
        at="our reading of Fig. 1b",
        expect="mean score of kept weights (SynFlow, sampled) above that of uniform masks, in every seed",
        null=use_uniform_masks,
        each=READINGS,
    )
    def higher_scores_than_uniform(table: Frame, mask: str, reading: str) -> Verdict:
        return judge_larger(table, mask, UNIFORM, "score")

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        left, right = figure.subplots(1, 2)
        scores = find_scores(results, 0).numpy()
        bins = np.linspace(0, float(np.quantile(scores, 0.999)), 60)
        first = {run: result for run, result in results.items() if isinstance(run, Pruned) and run.seed == 0}
        shown = {name_mask(run): result.records[0].tensors for run, result in first.items()}
        reach = float(shown[SYNFLOW]["weights"].abs().quantile(0.99))
        for mask, tensors in shown.items():
            style = {"histtype": "step", "color": COLOURS[mask], "label": mask}
            if mask in (UNIFORM, SYNFLOW, IMP):
                kept = tensors["weights"].numpy()
                left.hist(kept, bins=np.linspace(-reach, reach, 81), weights=np.full(len(kept), 1 / len(kept)), **style)
            if mask in (SYNFLOW, DRAWN, LAST):
                right.hist(scores[tensors["chosen"].numpy()], bins=bins, **style)
        right.hist(scores, bins=bins, histtype="step", color=BLACK, label="all weights")
        left.set(xlabel="initial value of kept weights", ylabel="probability")
        right.set(xlabel="SynFlow score before pruning", ylabel="weights", yscale="log")
        right.locator_params(axis="x", nbins=4)
        right.xaxis.set_major_formatter("{x:,.0f}")
        left.legend()
        right.legend()
