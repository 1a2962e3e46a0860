"""Fig. 2 of lufkin2024: samples, covariances and marginals of three data models."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from pandas import DataFrame

from prunefield.core.figures import add_legend
from prunefield.papers import Frame, Item, Scale, Verdict, claim, gather, judge, numbers, rows
from prunefield.papers._kit import BLACK, BLUE, SEQUENCE, VERMILION
from prunefield.papers.lufkin2024._fields import list_fields
from prunefield.papers.lufkin2024._pictures import make_grid
from prunefield.runs import Result, Run
from prunefield.runs.draws import EDGES, Draws
from prunefield.tasks import Discrimination
from prunefield.tasks.ising import Ising
from prunefield.tasks.kur import Kur
from prunefield.tasks.nlgp import Nlgp

NUMBERS: dict[Scale, int] = {"smoke": 4000, "laptop": 10_000, "paper": 10_000}
MODELS: dict[str, Discrimination] = {
    "Ising": Ising(size=100, couplings=(0.3, 1.2)),
    "NLGP(0.01)": Nlgp(g=0.01, size=100, lengthscales=(1.0, 5.0)),
    "Kur(5)": Kur(k=5.0, size=100, lengthscales=(1.0, 5.0)),
}
GIBBS, CHAIN = "Ising, Gibbs", Ising(size=100, couplings=(0.3, 1.2), sampler="gibbs", sweeps=10)
BOUND = 5.0  # standard errors, set before anything was run


def predict_statistics(task: Discrimination, label: int) -> dict[str, torch.Tensor]:
    """Correlations at each distance and shares of the bins, by the model."""
    below = torch.cat((torch.zeros(1), task.cdf(EDGES), torch.ones(1)))
    return {"correlation": task.covariance(label)[0, : task.size // 2 + 1], "share": below.diff()}


def describe_draws(run: Draws, result: Result) -> Iterator[dict[str, Any]]:
    """One row for each distance and each bin of a class: what was seen, its error and the theory."""
    model = GIBBS if run.task == CHAIN else run.task.title
    for record in result.records:
        for quantity, theory in predict_statistics(run.task, record["label"]).items():
            yield from list_fields(
                {
                    "model": model,
                    "label": record["label"],
                    "quantity": quantity,
                    "values": run.number * run.task.sites,
                },
                at=torch.arange(len(theory)),
                seen=record.tensors[quantity],
                error=record.tensors[f"{quantity}_error"],
                theory=theory,
            )


def deviate(part: Frame) -> np.ndarray:
    """(seen − theory)/error; 0 where both agree without any error, as a spin's variance does."""
    gap = numbers(part, "seen") - numbers(part, "theory")
    return np.where(np.abs(gap) < 1e-9, 0.0, gap / np.maximum(numbers(part, "error"), 1e-12))


def judge_theory(part: Frame) -> Verdict:
    """Is every model within 5 standard errors of the theory, everywhere?"""
    worst = {model: np.abs(deviate(rows(part, model=model))).max() for model in MODELS}
    seen = ", ".join(f"{model} {value:.1f}" for model, value in worst.items())
    return judge(max(worst.values()) <= BOUND, f"largest deviation in standard errors: {seen}", len(part))


def exchange(table: Frame, **names: Any) -> Frame:
    """The table with what was seen under other names."""
    seen = table.assign(**names)[["model", "label", "quantity", "at", "seen", "error"]]
    return table.drop(columns=["seen", "error"]).merge(seen)


def swap_labels(table: Frame) -> Frame:
    """The null: the observations of one lengthscale instead of the other."""
    return exchange(table, label=1 - table["label"])


def swap_models(table: Frame) -> Frame:
    """The null: the observations of one model instead of the next."""
    first, *others = MODELS
    return exchange(table, model=table["model"].replace(dict(zip(MODELS, [*others, first], strict=True))))


class Fig2(Item):
    """Figure 2 of lufkin2024: samples, covariances and marginals of Ising, NLGP(0.01) and Kur(5) data."""

    title = "Samples, covariances and marginals of Ising, NLGP(0.01) and Kur(5) data"
    size = (10, 12.5)
    open_choices = (
        "N = 100 and 10,000 examples of each class, from the authors' code (4,000 at smoke scale)",
        "the authors' Ising sampler is single-site Metropolis, 1,000 flips from a random start; here a checkerboard "
        "Gibbs sampler with as many updates, 10 sweeps, is used instead",
        "agreement means within 5 standard errors over examples; bins with fewer than 50 expected values are left out",
    )

    def runs(self, scale: Scale) -> list[Run]:
        return [Draws(task=task, number=NUMBERS[scale]) for task in (*MODELS.values(), CHAIN)]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return gather(results, describe_draws, Draws)

    def ideal(self) -> Frame:
        """Every sampler has the correlations and marginals of its model; Ising spins those of Eq. 2 as printed."""
        found = []
        for model, task in {**MODELS, GIBBS: CHAIN}.items():
            for label in range(task.classes):
                for quantity, theory in predict_statistics(task, label).items():
                    if quantity == "correlation" and isinstance(task, Ising):
                        theory = theory * (-1.0) ** torch.arange(len(theory))  # neighbours differ
                    known = {"model": model, "label": label, "quantity": quantity, "error": 0.001, "values": 400_000}
                    found += list_fields(known, at=torch.arange(len(theory)), theory=theory, seen=theory)
        return DataFrame(found)

    @claim(
        "Samples have circulant covariances that decay with distance, more slowly for the longer lengthscale",
        at="§2.2; Fig. 2, third column",
        expect="the closed forms of the models, within 5 standard errors",
        null=swap_labels,
    )
    def covariances(table: Frame) -> Verdict:
        return judge_theory(rows(table, quantity="correlation", model=tuple(MODELS)))

    @claim(
        "The models differ in their marginals: ±1, nearly Gaussian, heavy-tailed",
        at="§2.3; Fig. 2, last column",
        expect="the distribution functions of the models, within 5 standard errors",
        null=swap_models,
    )
    def marginals(table: Frame) -> Verdict:
        shares = rows(table, quantity="share", model=tuple(MODELS))
        return judge_theory(shares[(shares["theory"] * shares["values"] >= 50) | (shares["theory"] == 0)])

    @claim(
        "The long-lengthscale Ising samples of the figure come from the Ising model at J = 1.2",
        at="§2.3; Fig. 2 top left",
        expect="correlations 0.483 at d = 4 and 0.233 at d = 8, within 5 standard errors, after the authors' 10 sweeps",
        null=swap_labels,
    )
    def equilibrium(table: Frame) -> Verdict:
        """Do the short Markov chain and the exact sampler have the right correlations at d = 4 and d = 8?"""
        found = rows(table, model=("Ising", GIBBS), quantity="correlation", label=1, at=(4, 8))
        exact, chain = (rows(found, model=model) for model in ("Ising", GIBBS))
        seen = "; ".join(
            f"{model}: "
            + " and ".join(f"{value:.3f} ± {error:.3f}" for value, error in part[["seen", "error"]].to_numpy())
            for model, part in (("Ising", exact), (GIBBS, chain))
        )
        theory = " and ".join(f"{value:.3f}" for value in exact["theory"])
        right, mixed = (np.abs(deviate(part)).max() <= BOUND for part in (exact, chain))
        note = (
            "10 sweeps are too few at J = 1.2, where about 60 are needed; the exact sampler has the right correlations."
        )
        corrected = right and not mixed
        observed = f"law {theory}; {seen} at d = 4 and 8"
        return judge(right and mixed, observed, len(found), note if corrected else "", corrected=corrected)

    @claim(
        "The Ising model is p(x) ∝ exp(−J Σ xᵢxᵢ₊₁), and its lengthscale grows with J",
        at="Eq. 2",
        expect="exp(−J Σ xᵢxᵢ₊₁): a correlation −tanh J = −0.8337 of neighbours",
        null=lambda table: table.assign(seen=0.0),
    )
    def sign(table: Frame) -> Verdict:
        row = rows(table, model="Ising", quantity="correlation", label=1, at=1).iloc[0]
        size, error = math.tanh(1.2), max(row["error"], 1e-12)
        positive, negative = (abs(row["seen"] - sign * size) / error <= BOUND for sign in (1, -1))
        seen = f"correlation of neighbours at J = 1.2: {row['seen']:+.4f} ± {error:.4f}, against ±tanh J = ±{size:.4f}"
        note = "With the printed sign a larger J would make neighbours differ; exp(+J Σ xᵢxᵢ₊₁) is meant."
        return judge(negative, seen, 1, note if positive else "", corrected=positive)

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        """The Markov chain is drawn over the exact covariance of the Ising model."""
        panels = (
            ("sample, long", "site i"),
            ("sample, short", "site i"),
            ("covariance Σ, long", "site i"),
            ("its first row", "distance d"),
            ("marginal", "value of a site"),
        )
        found = {run.task: results[run].records for run in results if isinstance(run, Draws)}
        grid = make_grid(figure, list(MODELS), panels)
        for row, (model, task) in zip(grid.T, MODELS.items(), strict=True):
            short, long = found[task]
            for axes, record in zip(row[:2], (long, short), strict=True):
                axes.plot(record.tensors["field"], color=BLUE, linewidth=1)
            # The picture keeps every other site: the ring is the same all along, and the file stays small.
            picture = task.covariance(1)[::2, ::2].numpy()
            row[2].imshow(picture, cmap=SEQUENCE, vmin=0, vmax=1, extent=(0, 100, 100, 0))
            row[3].plot(task.covariance(1)[0, :51], color=BLACK, linewidth=1, label="closed form")
            row[3].plot(long.tensors["correlation"], ".", color=BLUE, label="exact sampler")
            if model == "Ising":
                row[3].plot(found[CHAIN][1].tensors["correlation"], ".", color=VERMILION, label="Gibbs, 10 sweeps")
            row[4].stairs(long.tensors["share"][1:-1].numpy(), EDGES.numpy(), fill=True, color=BLUE, label="samples")
            row[4].stairs(task.cdf(EDGES).diff().numpy(), EDGES.numpy(), color=BLACK, label="closed form")
        words = "long and short: the class with the longer and with the shorter lengthscale"
        add_legend(figure, grid[3:, 0], ncols=4, title=words)
