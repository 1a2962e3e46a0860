"""The item `lufkin2024/fig2`: samples, covariances and marginals of three data models."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch

from prunefield.papers import Item, Scale
from prunefield.papers.lufkin2024._fig2_claims import CLAIMS
from prunefield.runs import Result, Run
from prunefield.runs.draws import EDGES, Draws
from prunefield.tasks._discrimination import Discrimination
from prunefield.tasks.ising import Ising
from prunefield.tasks.kur import Kur
from prunefield.tasks.nlgp import Nlgp

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

NUMBERS: dict[Scale, int] = {"smoke": 4000, "laptop": 10_000, "paper": 10_000}
TASKS: tuple[Discrimination, ...] = (
    Ising(size=100, couplings=(0.3, 1.2)),
    Nlgp(g=0.01, size=100, lengthscales=(1.0, 5.0)),
    Kur(k=5.0, size=100, lengthscales=(1.0, 5.0)),
    Ising(size=100, couplings=(0.3, 1.2), sampler="gibbs", sweeps=10),
)


class Fig2(Item):
    """Figure 2 of lufkin2024: samples, covariances and marginals of Ising, NLGP(0.01) and Kur(5) data."""

    title = "Samples, covariances and marginals of Ising, NLGP(0.01) and Kur(5) data"
    open_choices = (
        "N = 100 and 10,000 examples of each class, from the authors' code (4,000 at smoke scale)",
        "the authors' Ising sampler is single-site Metropolis, 1,000 flips from a random start; here a checkerboard "
        "Gibbs sampler with as many updates, 10 sweeps, stands for it",
        "errors are standard errors over examples; agreement is within 5 of them everywhere, and bins in which fewer "
        "than 50 values are expected are left out",
    )
    claims = CLAIMS

    def runs(self, scale: Scale) -> list[Run]:
        return [Draws(task=task, number=NUMBERS[scale]) for task in TASKS]

    def table(self, results: Mapping[Run, Result]) -> "DataFrame":
        import pandas as pd

        return pd.DataFrame([row for run, result in results.items() for row in _rows(run, result)])

    def draw(self, table: "DataFrame", results: Mapping[Run, Result]) -> "Figure":
        from prunefield.papers.lufkin2024._fig2_drawing import draw

        return draw(results)


def name(task: Discrimination) -> str:
    """The model, and its sampler where it is not the exact one."""
    return f"{task.title}, Gibbs" if isinstance(task, Ising) and task.sampler == "gibbs" else task.title


def _rows(run: Run, result: Result) -> Iterator[dict[str, Any]]:
    """One row for each distance and each bin of a class: what was seen, its error and the theory."""
    if not isinstance(run, Draws):
        return
    below = torch.cat((torch.zeros(1), run.task.cdf(EDGES), torch.ones(1)))
    for record in result.records:
        label = record["label"]
        theory = {
            "correlation": run.task.covariance(label)[0, : run.task.size // 2 + 1],
            "share": below.diff(),
        }
        for quantity, expected in theory.items():
            seen, error = record.tensors[quantity], record.tensors[f"{quantity}_error"]
            for at in range(len(expected)):
                yield {
                    "model": name(run.task),
                    "label": label,
                    "quantity": quantity,
                    "at": at,
                    "seen": seen[at].item(),
                    "error": error[at].item(),
                    "theory": expected[at].item(),
                    "values": run.number * run.task.sites,
                }
