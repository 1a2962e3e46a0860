"""The grid of data models, ordered by their kurtosis, that `lufkin2024/fig5` and `lufkin2024/claim3.2` share."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch
from pandas import DataFrame

from prunefield.measures.localisation import compute_ipr
from prunefield.papers import OPEN, Frame, Scale, Verdict, gather, rows
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
SOURCES = ("simulated", "Eq. 5")
FAMILIES = {"NLGP": BLUE, "Kur": VERMILION}  # and their colours
ZERO = 0.01  # NLGP(0.01) is taken as neither negative nor positive
CHANGE = 0.05  # of a mean IPR, its deviation, a threshold or an exponent since half the time: more is not at rest
REST_CHOICE = (
    "claims about the end of training (the maximum of the IPR, its spread and trend, the threshold, widths) are not "
    f"judged where a number that decides them has changed by more than {CHANGE} since half the time; whether fields "
    "are local is judged as they are. This and the longer times of night scale came after a grid to t = 500 on 160 "
    "sites in which 13 of 30 fields with IPR·N ≥ 6 were at rest. The rule was first that no model's mean IPR may "
    "change by 5%; it was replaced when the fields on 40 sites at lengthscales 0.3 and 0.7 had been seen, as it left "
    "claims open that a slow drift of a few wide fields cannot change"
)

# On more than 40 sites only these are simulated, to save time; Eq. 5 is integrated for all.
FEWER = {"NLGP(0.01)", "NLGP(0.3)", "NLGP(0.5)", "NLGP(0.7)", "NLGP(100)"}
FEWER |= {"Kur(5)", "Kur(6)", "Kur(7)", "Kur(8)", "Kur(30)"}


class GridSize(NamedTuple):
    """One number of sites: initialisations, examples of a batch (none if only Eq. 5 is integrated), rate, time."""

    sites: int
    inits: int
    batch: int
    rate: float = 0.2
    time: float = 500.0


SIZES: dict[Scale, tuple[GridSize, ...]] = {
    "laptop": (GridSize(40, 30, 50),),
    "night": (
        GridSize(40, 30, 200, rate=0.1, time=4000.0),
        GridSize(160, 4, 80, time=8000.0),
        GridSize(400, 4, 0, time=8000.0),
    ),
    "paper": tuple(GridSize(sites, 30, 500, 0.05, 1000.0) for sites in (40, 160, 400)),
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


def make_tasks(size: int = 40) -> Iterator[Nlgp | Kur]:
    """NLGP and Kur tasks at both lengthscales."""
    for lengthscales in (SHORT, LONG):
        yield from (Nlgp(g=g, size=size, lengthscales=lengthscales) for g in GAINS)
        yield from (Kur(k=k, size=size, lengthscales=lengthscales) for k in EXPONENTS)


def list_grid(scale: Scale, count: int | None = None) -> list[Run]:
    """For each number of sites (the first `count` of the scale, or all) and each task the simulation and, from the same
    initial weights to the same time, Eq. 5. Batches have all translates and both signs of each example.
    """
    runs: list[Run] = []
    if scale == "smoke":
        for task in make_tasks():
            same = {"task": task, "inits": 4}
            if task in SIMULATED:
                runs.append(Neuron(lr=0.1, batch_size=10, symmetric=True, steps=700, record_every=350, **same))
            runs.append(Flow(time=70.0, record_every=35.0, **same))
        return runs
    for sites, inits, batch, rate, time in SIZES[scale][:count]:
        for task in make_tasks(sites):
            same = {"task": task, "inits": inits}
            if batch and (sites == 40 or scale == "paper" or task.title in FEWER):
                steps = round(time / rate)
                learning = {"lr": rate, "steps": steps, "record_every": steps // 2}
                runs.append(Neuron(batch_size=batch, symmetric=True, **learning, **same))
            runs.append(Flow(time=time, record_every=time / 2, **same))
    return runs


def tabulate_grid(results: Mapping[Run, Result]) -> Frame:
    """One row for each initialisation of each run: data, excess kurtosis, the IPR at half the time and at the end."""

    def describe_end(run: Neuron | Flow, result: Result) -> Iterator[dict[str, Any]]:
        assert isinstance(run.task, Nlgp | Kur)
        known = describe_grid_task(run.task, "simulated" if isinstance(run, Neuron) else "Eq. 5")
        half, end = (compute_ipr(record.tensors["weights"]) for record in result.records[-2:])
        return list_fields(known, init=torch.arange(run.inits), ipr=end, ipr_half=half)

    return gather(results, describe_end, (Neuron, Flow))


def imagine_grid() -> Frame:
    """The same as Fig. 5 and Claim 3.2 state it: fields are local where the excess kurtosis is negative, else flat."""
    found = [
        describe_grid_task(task, source)
        for size, sources in ((40, SOURCES), (160, SOURCES), (400, SOURCES[1:]))
        for task in make_tasks(size)
        for source in sources
    ]
    table = DataFrame(found)
    table = table.assign(ipr=np.where(table["excess"] < -ZERO, 0.95, 1.2 / table["size"]))
    return table.assign(ipr_half=table["ipr"]).merge(DataFrame({"init": range(10)}), how="cross")


def describe_grid_task(task: Nlgp | Kur, source: str) -> dict[str, Any]:
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


def average(table: Frame, source: str, lengthscales: tuple[float, float], size: int) -> Frame:
    """Mean, standard deviation and minimum of the IPR over initialisations, a row for each model, by its kurtosis."""
    groups = rows(table, source=source, setting=name_setting(lengthscales), size=size)
    groups = groups.groupby(["family", "model", "size"], as_index=False, sort=False)
    found = groups.agg(excess=("excess", "first"), mean=("ipr", "mean"), deviation=("ipr", "std"), least=("ipr", "min"))
    return found.sort_values("excess", ignore_index=True)


def find_largest(table: Frame, source: str = "simulated") -> int:
    """The largest number of sites of a source."""
    return int(rows(table, source=source)["size"].max())


def require_rest(verdict: Verdict, table: Frame, measure: Callable[[Frame], Iterable[float | None]]) -> Verdict:
    """The verdict, if the numbers that decide it were the same at half the time; None is a number that is not there."""
    end, half = (np.array([*measure(one)], dtype=float) for one in (table, table.assign(ipr=table["ipr_half"])))
    largest = np.nanmax(np.abs(end - half), initial=0.0)
    appeared = int((np.isnan(end) != np.isnan(half)).sum())
    seen = [f"since half the time the numbers that decide have changed by at most {largest:.3f} (limit {CHANGE})"]
    seen += [f"{appeared} of {len(end)} appeared or vanished"] * bool(appeared)
    note = "; ".join(filter(None, (verdict.note, *seen * bool(len(end)))))
    return replace(verdict, note=note, status=OPEN if appeared or largest > CHANGE else verdict.status)


def shuffle(table: Frame) -> Frame:
    """The null: the IPRs shuffled among all models of the same source, so that kurtosis carries no information."""
    mixed = table.copy()
    for number, (_, part) in enumerate(table.groupby(["source", "setting", "size"])):
        drawn = part[["ipr", "ipr_half"]].sample(frac=1, random_state=number)
        mixed.loc[part.index, ["ipr", "ipr_half"]] = drawn.to_numpy()
    return mixed
