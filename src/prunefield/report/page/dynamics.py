"""Data of the dynamics player: weights of `neuron` and `flow` runs over time, with the data that made them.

A neuron is shown with the flows from the same initial weights; a flow without a neuron is shown by itself. Weights of
a run are rounded to 65,535 levels.
"""

import json
import math
from functools import partial
from typing import Any

import numpy as np
import torch

from prunefield.core.errors import Error
from prunefield.core.settings import flatten_settings
from prunefield.lab.store import Store
from prunefield.report.collecting import explain_problem
from prunefield.report.page.catalogue import name_runs, select_runs
from prunefield.report.page.packing import round_to_bytes
from prunefield.runs.flow import Flow
from prunefield.runs.neuron import Neuron
from prunefield.tasks import Discrimination

RUNS = 400  # of each kind that are shown at most
SHARE = 2_500_000  # bytes that all of them may take, before they are written as text
POINTS = 121  # of the curves of marginal and amplifier
SPREAD = 3.0  # standard deviations to which they reach
STEPS, STARTS = 60, 32  # records and initialisations of a run that are shown at most


def describe_dynamics(store: Store) -> tuple[dict[str, Any], dict[str, Any]]:
    """The list of entries with all that the phase diagram needs, and an island for each of them."""
    neurons = select_runs(store, Neuron, RUNS, where=lambda run: isinstance(run.task, Discrimination))  # with a φ
    flows = select_runs(store, Flow, RUNS)
    problems = {**neurons.problems, **flows.problems}
    starts: dict[str, list[Flow]] = {}
    for flow in flows.runs:
        starts.setdefault(_name_start(flow), []).append(flow)
    groups: list[tuple[Neuron | None, list[Flow]]] = [
        (run, sorted(starts.get(_name_start(run), []), key=partial(_measure_distance, run))) for run in neurons.runs
    ]
    used = {_name_start(run) for run in neurons.runs}
    groups += [(None, found) for start, found in starts.items() if start not in used]
    entries, islands, size = [], {}, 0
    for neuron, found in groups:
        first = neuron or found[0]
        assert isinstance(first.task, Discrimination)
        try:
            island = {"sources": _read_sources(store, neuron, found), **sample_task_curves(first.task)}
        except (Error, LookupError, ValueError, RuntimeError) as error:
            problems[first.folder] = explain_problem(error)
            continue
        if (size := size + sum(one["weights"].nbytes for one in island["sources"])) > SHARE:
            problems["the rest"] = f"{len(groups) - len(entries)} of {len(groups)} do not fit on the page"
            break
        entries.append(_describe_entry(first, first.task.kurtosis(), island))
        islands[f"dynamics/{first.folder}"] = island
    finished = neurons.finished + flows.finished
    return {"entries": entries, "finished": finished, "problems": problems}, islands


def _name_start(run: Neuron | Flow) -> str:
    """What two runs have in common that start from the same weights on the same data."""
    return json.dumps([run.task.settings(), run.seed, run.inits, run.init_scale], sort_keys=True)


def _measure_distance(neuron: Neuron, flow: Flow) -> tuple[bool, float]:
    """By which flows of a neuron are sorted: the first is beside it, with the exact φ and the most similar end."""
    return flow.amplifier != "exact", abs(flow.time - neuron.steps * neuron.lr)


def _read_sources(store: Store, neuron: Neuron | None, flows: list[Flow]) -> list[dict[str, Any]]:
    found = []
    names = name_runs(
        flows, [f"flow, {flow.amplifier} φ" for flow in flows], ("task", "seed", "amplifier", "record_every")
    )
    runs: list[Neuron | Flow] = [*([neuron] if neuron else []), *flows]
    for run, name in zip(runs, [*(["simulated"] if neuron else []), *names], strict=True):
        records = store.folder(run).read().records
        records = records[:: max(1, math.ceil(len(records) / STEPS))] + records[-1:] * (len(records) > STEPS)
        weights = torch.stack([record.tensors["weights"][:STARTS] for record in records]).double().numpy()
        whole, unit = round_to_bytes(weights, np.int16)
        ipr = np.stack([record.tensors["ipr"][:STARTS].double().numpy() for record in records]).astype(np.float32)
        times = [record["time"] for record in records]
        exact = isinstance(run, Flow) and run.amplifier == "exact"
        known = {"name": name, "run": run.folder, "exact": exact, "times": times}
        found.append({**known, "weights": whole, "unit": unit, "ipr": ipr})
    return found


def _compare_peaks(sources: list[dict[str, Any]]) -> list[bool]:
    """For each initialisation of a neuron, whether its field and that of the first flow are largest at one site, with
    the same sign, when the shorter of them ends; nothing if there are not both, or if the flow has not the exact φ.
    """
    if len(sources) < 2 or sources[0]["name"] != "simulated" or not sources[1]["exact"]:
        return []
    end = min(source["times"][-1] for source in sources[:2])
    peaks = []
    for source in sources[:2]:
        last = source["weights"][np.abs(np.array(source["times"]) - end).argmin()].astype(int)
        places = np.abs(last).argmax(1)
        peaks.append([(place, last[row, place] > 0) for row, place in enumerate(places)])
    return [one == other for one, other in zip(*peaks, strict=False)]


def sample_task_curves(task: Discrimination) -> dict[str, Any]:
    """The marginal law and the amplifier of a task as curves."""
    x, a = (torch.linspace(-end, end, POINTS, dtype=torch.float64) for end in (SPREAD, 1.0))
    return {
        "shape": task.shape,
        "title": task.title,
        "x": x.numpy(),
        "share": (task.cdf(x + SPREAD / POINTS) - task.cdf(x - SPREAD / POINTS)).numpy() * POINTS / (2 * SPREAD),
        "a": a.numpy(),  # |Σ₁w/√(wᵀΣ₁w)| is at most 1
        "amplifier": task.amplifier(a).numpy(),
    }


def _describe_entry(run: Neuron | Flow, kurtosis: float, island: dict[str, Any]) -> dict[str, Any]:
    flat = flatten_settings(run.task.settings())
    settings = {f"task.{key}": value for key, value in flat.items() if key != "kind"}
    settings |= {
        key: value for key, value in flatten_settings(run.settings()).items() if "." not in key and key != "kind"
    }
    ends = {one["name"]: float(one["ipr"][-1].mean()) * run.task.sites for one in island["sources"]}
    return {
        "run": run.folder,
        "title": run.task.title,
        "task": run.task.kind(),
        "excess": kurtosis - 3 if math.isfinite(kurtosis) else None,
        "settings": settings,
        "ends": ends,
        "agree": _compare_peaks(island["sources"]),
        "records": max(len(one["times"]) for one in island["sources"]),
    }
