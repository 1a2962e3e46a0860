"""Fig. 1 of bar2023: initial weights and scores kept by uniform, SynFlow and iterative masks."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from prunefield.networks.vgg import Vgg
from prunefield.papers import Claim, Item, Scale, Verdict
from prunefield.papers._rows import column, rows
from prunefield.papers.bar2023._experiments import STREAM
from prunefield.runs import Result, Run
from prunefield.runs.pruned import Pruned
from prunefield.runs.tickets import Tickets
from prunefield.scores.magnitude import Magnitude
from prunefield.scores.random import Random
from prunefield.scores.synflow import Synflow
from prunefield.tasks.cifar10 import Cifar10
from prunefield.training.recipe import Recipe

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame
    from torch import Tensor

UNIFORM, SYNFLOW, DRAWN, LAST, IMP = "uniform", "SynFlow", "SynFlow, sampled", "SynFlow, sampled last", "IMP"
COLOURS = {UNIFORM: "grey", SYNFLOW: "#0072b2", DRAWN: "#d55e00", LAST: "#e69f00", IMP: "#009e73"}
SIZES: dict[Scale, dict[str, Any]] = {
    "smoke": {"task": STREAM, "images": 256, "net": Vgg(width=4, stages=(1, 1, 1))},
    "laptop": {
        "task": Cifar10(limit=4_000, standardise="channel"),
        "net": Vgg(width=16, stages=(1, 1, 1, 1, 1)),
    },
    "paper": {"task": Cifar10(standardise="channel"), "net": Vgg(width=64)},
}
LEARNT: dict[Scale, dict[str, Any]] = {
    "smoke": {"recipe": Recipe(epochs=1, batch=64), "levels": 2, "rewind": 1, "held_out": 200},
    "laptop": {"recipe": Recipe(epochs=4), "levels": 5, "rewind": 20, "held_out": 1_000},
    "paper": {"recipe": Recipe(), "levels": 14, "rewind": 1_000},
}
DENSITY = 0.05


SHOWN = 20_000  # weights and scores in a histogram


def pruned(scale: Scale, seed: int) -> dict[str, Pruned]:
    """The five masks of a seed; nothing is trained but what IMP trains."""
    size = SIZES[scale]
    base = size | {"recipe": Recipe(epochs=0), "density": DENSITY, "seed": seed, "shown": SHOWN}
    flow = base | {"score": Synflow(), "inputs": "ones", "iterations": 10 if scale == "smoke" else 100}
    tickets = Tickets(density=DENSITY, seed=seed, **size, **LEARNT[scale])
    return {
        UNIFORM: Pruned(score=Random(), **base),
        SYNFLOW: Pruned(**flow),
        DRAWN: Pruned(sample="every", **flow),
        LAST: Pruned(sample="last", **flow),
        IMP: Pruned(score=Magnitude(), of=tickets, **base),
    }


def values(table: "DataFrame", mask: str, name: str) -> list[float]:
    """A column for one mask, in the order of seeds."""
    return column(rows(table, mask=mask).sort_values("seed"), name)


def larger(first: str, second: str, name: str, table: "DataFrame") -> Verdict:
    """Whether a mask's value is above another's, for every seed."""
    one, other = values(table, first, name), values(table, second, name)
    good = all(a > b for a, b in zip(one, other, strict=True))
    shown = [f"{mask} " + ", ".join(f"{value:.2f}" for value in found)
             for mask, found in ((first, one), (second, other))]  # fmt: skip
    return Verdict("reproduced" if good else "not reproduced", "; ".join(shown), len(one) + len(other))


def claim(first: str, second: str, name: str, text: str, where: str) -> Claim:
    """That the first mask has more of something than the second.

    Smoke scale decides only whether SynFlow's masks differ from uniform ones: after a few training steps IMP keeps
    large initial weights whatever it would learn, and ten iterations of SynFlow are not a hundred.
    """

    def same(table: "DataFrame") -> "DataFrame":
        """The table if the first mask had what the second has."""
        other = table.copy()
        other.loc[other["mask"] == first, name] = values(table, second, name)
        return other

    expected = f"{name} of {first} above that of {second} for every seed"
    least = "smoke" if second == UNIFORM and first != IMP else "laptop"
    return Claim(text, where, expected, lambda table: larger(first, second, name, table), same, decided_at=least)


class Fig1(Item):
    """Initial weights kept by uniform, SynFlow and IMP masks of VGG, and SynFlow's scores (bar2023, Fig. 1)."""

    title: ClassVar[str] = "Magnitudes and scores of the initial weights that masks keep"
    open_choices: ClassVar[tuple[str, ...]] = (
        "The paper does not state the layers and densities of Fig. 1; here: all layers together, density 5 %. "
        "Weights of different layers have different standard deviations, so a mask that prefers some layers prefers "
        "large weights; `bias` is the mean |w0| of kept weights relative to that of all weights, `within` relative "
        "to that of their own layers.",
        "VGG-19 at paper scale; at laptop scale VGG with one layer per stage, width 16, on 4,000 images of CIFAR-10, "
        "IMP with 5 levels of 4 epochs; two seeds.",
        "SynFlow's scores are those of the network before pruning. The mask is sampled in every iteration or only in "
        "the last; the paper does not say which.",
    )
    claims: ClassVar[tuple[Claim, ...]] = (
        claim(SYNFLOW, UNIFORM, "bias", "SynFlow keeps larger weights than a uniform mask", "Fig. 1a, Sec. 8"),
        claim(IMP, UNIFORM, "bias", "IMP keeps larger weights than a uniform mask", "Fig. 1a, Sec. 8"),
        claim(SYNFLOW, IMP, "bias", "SynFlow is more biased towards large weights than IMP", "Fig. 1a, Sec. 8"),
        claim(SYNFLOW, IMP, "within", "SynFlow is also more biased within layers", "Fig. 1a (not in the paper)"),
        claim(SYNFLOW, DRAWN, "score", "A sampled mask keeps lower scores than SynFlow's own mask", "Fig. 1b, Sec. 8"),
        claim(DRAWN, UNIFORM, "score", "A sampled mask still prefers large scores", "Fig. 1b, Sec. 8"),
    )

    def runs(self, scale: Scale) -> list[Run]:
        return [run for seed in range(2) for run in pruned(scale, seed).values()]

    def table(self, results: Mapping[Run, Result]) -> "DataFrame":
        """One row per mask and seed; `score` is the mean SynFlow score of kept weights relative to that of all."""
        import pandas

        found = []
        for mask, run, result in _masks(results):
            record = result.records[0]
            numbers = {"bias": record["bias"], "within": record["bias_within"], "emptied": record["emptied"]}
            scores = _scores(results, run.seed)
            kept = record.tensors["chosen"]
            share = float(scores[kept].mean() / scores.mean())
            found.append({"mask": mask, "seed": run.seed, "kept": record["kept"], **numbers, "score": share})
        return pandas.DataFrame(found).sort_values(["mask", "seed"], ignore_index=True)

    def ideal(self) -> "DataFrame":
        """Fig. 1a: large weights with IMP, larger ones with SynFlow; Fig. 1b: large scores, largest if not sampled."""
        import pandas

        found = {UNIFORM: (1.0, 1.0), IMP: (1.5, 2.0), DRAWN: (1.8, 5.0), SYNFLOW: (2.0, 10.0)}
        kept = [(mask, seed, bias, bias, score) for mask, (bias, score) in found.items() for seed in range(2)]
        return pandas.DataFrame(kept, columns=["mask", "seed", "bias", "within", "score"])

    def draw(self, table: "DataFrame", results: Mapping[Run, Result]) -> "Figure":
        import numpy as np
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10, 4), layout="constrained")
        left, right = figure.subplots(1, 2)
        scores = _scores(results, 0).numpy()
        bins = np.linspace(0, float(np.quantile(scores, 0.999)), 60)
        shown = {mask: result.records[0].tensors for mask, run, result in _masks(results) if run.seed == 0}
        reach = float(shown[SYNFLOW]["weights"].abs().quantile(0.99))
        for mask, tensors in shown.items():
            style = {"histtype": "step", "color": COLOURS[mask], "label": mask}
            if mask in (UNIFORM, SYNFLOW, IMP):
                kept = tensors["weights"].numpy()
                left.hist(kept, bins=np.linspace(-reach, reach, 81), weights=np.full(len(kept), 1 / len(kept)), **style)
            if mask in (SYNFLOW, DRAWN, LAST):
                right.hist(scores[tensors["chosen"].numpy()], bins=bins, **style)
        right.hist(scores, bins=bins, histtype="step", color="black", label="all weights")
        left.set(xlabel="initial value of kept weights", ylabel="probability")
        right.set(xlabel="SynFlow score before pruning", ylabel="weights", yscale="log")
        left.legend()
        right.legend()
        return figure


def _masks(results: Mapping[Run, Result]) -> "list[tuple[str, Pruned, Result]]":
    """Each mask with its name."""
    names = {run: mask for scale in SIZES for seed in range(2) for mask, run in pruned(scale, seed).items()}
    return [(names[run], run, found) for run, found in results.items() if isinstance(run, Pruned) and run in names]


def _scores(results: Mapping[Run, Result], seed: int) -> "Tensor":
    """SynFlow's scores of the weights shown, which are the same for all masks of a seed."""
    return next(
        found.records[0].tensors["scores"]
        for mask, run, found in _masks(results)
        if mask == SYNFLOW and run.seed == seed
    )
