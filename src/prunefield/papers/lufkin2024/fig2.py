"""Fig. 2 of lufkin2024: samples, covariances and marginals of three data models."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch

from prunefield.papers import Item, Scale
from prunefield.papers.lufkin2024._fig2_claims import CLAIMS
from prunefield.runs import Result, Run
from prunefield.runs.draws import EDGES, Draws
from prunefield.tasks import Discrimination
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
        "Gibbs sampler with as many updates, 10 sweeps, is used instead",
        "agreement means within 5 standard errors over examples; bins with fewer than 50 expected values are left out",
    )
    claims = CLAIMS

    def runs(self, scale: Scale) -> list[Run]:
        return [Draws(task=task, number=NUMBERS[scale]) for task in TASKS]

    def table(self, results: Mapping[Run, Result]) -> "DataFrame":
        import pandas as pd

        return pd.DataFrame([row for run, result in results.items() for row in _rows(run, result)])

    def ideal(self) -> "DataFrame":
        """Every sampler has the correlations and marginals of its model; Ising spins those of Eq. 2 as printed."""
        import pandas as pd

        found = []
        for task in TASKS:
            for label in range(task.classes):
                for quantity, theory in _expect(task, label).items():
                    if quantity == "correlation" and isinstance(task, Ising):
                        theory = theory * (-1.0) ** torch.arange(len(theory))  # neighbours differ
                    known = {"model": name(task), "label": label, "quantity": quantity, "error": 0.001}
                    found += [known | {"at": at, "theory": value} for at, value in enumerate(theory.tolist())]
        table = pd.DataFrame(found)
        return table.assign(seen=table["theory"], values=400_000)

    def draw(self, table: "DataFrame", results: Mapping[Run, Result]) -> "Figure":
        from prunefield.papers.lufkin2024._fig2_drawing import draw

        return draw(results)


def name(task: Discrimination) -> str:
    """The model, and its sampler where it is not the exact one."""
    return f"{task.title}, Gibbs" if isinstance(task, Ising) and task.sampler == "gibbs" else task.title


def _expect(task: Discrimination, label: int) -> dict[str, torch.Tensor]:
    """Correlations at each distance and shares of the bins, by the model."""
    below = torch.cat((torch.zeros(1), task.cdf(EDGES), torch.ones(1)))
    return {"correlation": task.covariance(label)[0, : task.size // 2 + 1], "share": below.diff()}


def _rows(run: Run, result: Result) -> Iterator[dict[str, Any]]:
    """One row for each distance and each bin of a class: what was seen, its error and the theory."""
    if not isinstance(run, Draws):
        return
    for record in result.records:
        label = record["label"]
        for quantity, expected in _expect(run.task, label).items():
            seen, error = record.tensors[quantity], record.tensors[f"{quantity}_error"]
            known = {"model": name(run.task), "label": label, "quantity": quantity}
            for at, theory in enumerate(expected.tolist()):
                numbers = {"seen": seen[at].item(), "error": error[at].item(), "theory": theory}
                yield {**known, "at": at, **numbers, "values": run.number * run.task.sites}
