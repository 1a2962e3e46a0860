"""The grid of data models, ordered by their kurtosis, that `lufkin2024/fig5` and `lufkin2024/claim3.2` share."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from pandas import DataFrame

from prunefield.measures.localisation import compute_ipr
from prunefield.papers import Frame, Scale, gather, rows
from prunefield.papers._kit import BLUE, VERMILION
from prunefield.papers.lufkin2024._fields import list_fields
from prunefield.runs import Result, Run
from prunefield.runs.flow import Flow
from prunefield.runs.neuron import Neuron
from prunefield.tasks.kur import Kur
from prunefield.tasks.nlgp import Nlgp

SHORT, LONG = (0.3, 0.7), (1.0, 2.0)  # the lengthscales of Fig. 8, and those of the authors' nearest sweep
GAINS = (0.01, 0.3, 0.5, 0.7, 1.0, 1.5, 3.0, 100.0)
EXPONENTS = (4.5, 5.0, 5.5, 6.0, 7.0, 8.0, 10.0, 30.0)
FAMILIES = {"NLGP": BLUE, "Kur": VERMILION}  # and their colours
ZERO = 0.01  # NLGP(0.01) is taken as neither negative nor positive
# For each scale: initialisations, learning rate, batch, steps.
SIZES: dict[Scale, tuple[int, float, int, int]] = {
    "smoke": (4, 0.1, 400, 700),
    "laptop": (30, 0.05, 1000, 4000),
    "paper": (30, 0.02, 50_000, 10_000),
}
# At smoke scale Eq. 5 is integrated on the whole grid, but only these are simulated.
SIMULATED = (
    Nlgp(g=0.01, lengthscales=SHORT),
    Nlgp(g=100.0, lengthscales=SHORT),
    Kur(k=5.0, lengthscales=SHORT),
    Kur(k=30.0, lengthscales=SHORT),
    Nlgp(g=100.0, lengthscales=LONG),
    Kur(k=5.0, lengthscales=LONG),
)


def list_tasks() -> Iterator[Nlgp | Kur]:
    """NLGP and Kur tasks at both lengthscales."""
    for lengthscales in (SHORT, LONG):
        yield from (Nlgp(g=g, lengthscales=lengthscales) for g in GAINS)
        yield from (Kur(k=k, lengthscales=lengthscales) for k in EXPONENTS)


def list_grid(scale: Scale) -> list[Run]:
    """For each task the simulation and, from the same initial weights to the same time, Eq. 5."""
    inits, rate, batch, steps = SIZES[scale]
    runs: list[Run] = []
    for task in list_tasks():
        if scale != "smoke" or task in SIMULATED:
            runs.append(Neuron(task=task, inits=inits, lr=rate, batch_size=batch, steps=steps, record_every=steps))
        runs.append(Flow(task=task, inits=inits, time=rate * steps, record_every=rate * steps))
    return runs


def tabulate(results: Mapping[Run, Result]) -> Frame:
    """One row for each initialisation of each run: the family, the excess kurtosis in closed form, the final IPR."""

    def describe_end(run: Neuron | Flow, result: Result) -> Iterator[dict[str, Any]]:
        assert isinstance(run.task, Nlgp | Kur)
        known = describe_task(run.task, "simulated" if isinstance(run, Neuron) else "Eq. 5")
        return list_fields(known, init=torch.arange(run.inits), ipr=compute_ipr(result.records[-1].tensors["weights"]))

    return gather(results, describe_end, (Neuron, Flow))


def imagine() -> Frame:
    """The same as Fig. 5 and Claim 3.2 state it: fields are local where the excess kurtosis is negative, else flat."""
    table = DataFrame([describe_task(task, source) for task in list_tasks() for source in ("simulated", "Eq. 5")])
    table = table.assign(ipr=np.where(table["excess"] < -ZERO, 0.95, 0.03))
    return table.merge(DataFrame({"init": range(30)}), how="cross")


def describe_task(task: Nlgp | Kur, source: str) -> dict[str, Any]:
    """What all initialisations on these data have in common."""
    return {
        "family": "NLGP" if isinstance(task, Nlgp) else "Kur",
        "model": task.title,
        "setting": name_setting(task.lengthscales),
        "source": source,
        "excess": task.kurtosis() - 3,
        "size": task.size,
    }


def name_setting(lengthscales: tuple[float, ...]) -> str:
    """As in the table.

    >>> name_setting((1.0, 2.0))
    '1, 2'
    """
    return ", ".join(f"{length:g}" for length in lengthscales)


def average(table: Frame, source: str, lengthscales: tuple[float, float]) -> Frame:
    """Mean, standard deviation and minimum of the IPR over initialisations, a row for each model, by its kurtosis."""
    groups = rows(table, source=source, setting=name_setting(lengthscales))
    groups = groups.groupby(["family", "model", "size"], as_index=False, sort=False)
    found = groups.agg(excess=("excess", "first"), mean=("ipr", "mean"), deviation=("ipr", "std"), least=("ipr", "min"))
    return found.sort_values("excess", ignore_index=True)


def shuffle(table: Frame) -> Frame:
    """The null: the IPRs shuffled among all models of the same source, so that kurtosis carries no information."""
    mixed = table.copy()
    for number, (_, part) in enumerate(table.groupby(["source", "setting"])):
        mixed.loc[part.index, "ipr"] = part["ipr"].sample(frac=1, random_state=number).to_numpy()
    return mixed
