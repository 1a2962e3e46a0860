"""Data of the pruning explorer: densities and masks of `pruned` runs, and errors and bounds of `sketch` runs."""

from typing import Any

import numpy as np
import torch

from prunefield.core.errors import Error
from prunefield.lab.store import Store
from prunefield.masks.mask import unpack_bits
from prunefield.report.collecting import explain_problem
from prunefield.report.page.catalogue import select_runs
from prunefield.report.page.fields import name_task
from prunefield.runs.pruned import Pruned
from prunefield.runs.sketch import COLUMNS, Sketch

RUNS = 3_000  # of which the densities are shown at most
MASKS = 24  # that are compared with each other at most, for each network and density
PREFIX = "density:"


def describe_prunings(store: Store) -> tuple[dict[str, Any], dict[str, Any]]:
    """How many runs there are, and the one island with all of them."""
    pruned, sketches = select_runs(store, Pruned, RUNS), select_runs(store, Sketch, RUNS)
    problems = {**pruned.problems, **sketches.problems}
    rows, groups, bounds = [], {}, []
    for run in pruned.runs:
        try:
            rows.append(_describe_run(run, store.folder(run).read_values()))
            if run.shown and len(group := groups.setdefault((rows[-1]["net"], run.density), [])) < MASKS:
                group.append((run, _read_masks(store, run)))
        except (Error, LookupError, ValueError, RuntimeError) as error:
            problems[run.folder] = explain_problem(error)
    for run in sketches.runs:
        try:
            bounds.append(_describe_bounds(store, run))
        except (Error, LookupError, ValueError, RuntimeError) as error:
            problems[run.folder] = explain_problem(error)
    overlaps = [_compare_masks(net, density, group) for (net, density), group in groups.items() if len(group) > 1]
    summary = {"pruned": len(rows), "bounds": len(bounds), "problems": problems}
    return summary, {"pruning": {"runs": rows, "overlaps": overlaps, "bounds": bounds}}


def name_pruned_network(run: Pruned) -> str:
    """Network and data of a run in a few words."""
    settings = run.net.settings()
    width = f" {settings['width']}" if "width" in settings else ""
    return f"{run.net.kind()}{width} on {name_task(run.task)}"


def name_method(run: Pruned) -> str:
    """How the scores of a run are made, but for thresholding and sampling."""
    parts = [run.score.kind()]
    if run.of is not None:
        parts.append("after IMP")
    if run.inputs is not None and run.inputs.kind() != "ones":
        parts.append(f"on {run.inputs.kind()}")
    return ", ".join(parts)


def _name_sampling(run: Pruned) -> str:
    """As `showSampling` of the page says it."""
    return {"never": "threshold", "last": "sampled"}.get(run.sample, f"sampled {run.sample} time")


def _describe_run(run: Pruned, values: list[dict[str, Any]]) -> dict[str, Any]:
    first, last = values[0], values[-1]
    layers = {key.removeprefix(PREFIX): value for key, value in first.items() if key.startswith(PREFIX)}
    return {
        "run": run.folder,
        "net": name_pruned_network(run),
        "density": run.density,
        "method": name_method(run),
        "sampled": run.sample,
        "seed": run.seed,
        "accuracy": last.get("accuracy"),
        "emptied": first["emptied"],
        "names": list(layers),
        "layers": list(layers.values()),
    }


def _read_masks(store: Store, run: Pruned) -> dict[str, np.ndarray]:
    tensors = store.folder(run).read().records[0].tensors
    bits = {key.removeprefix("mask:"): item for key, item in tensors.items() if key.startswith("mask:")}
    shapes = {name: (item.numel() * 8,) for name, item in bits.items()}
    return {name: unpack_bits(item, shapes[name]).numpy() for name, item in bits.items()}


def _compare_masks(net: str, density: float, group: list[tuple[Pruned, dict[str, np.ndarray]]]) -> dict[str, Any]:
    """How many weights of each layer every two masks share; the padding of packed masks is zero in all of them."""
    layers = list(group[0][1])
    stacks = [np.stack([masks[name] for _, masks in group]).astype(np.float32) for name in layers]
    shared = np.stack([stack @ stack.T for stack in stacks], -1).round().astype(np.int32)
    first = group[0][0]
    sizes = {name: weight.numel() for name, weight in _build(first).items()}
    names = [f"{name_method(run)}, {_name_sampling(run)}, seed {run.seed}" for run, _ in group]
    return {
        "net": net, "density": density, "masks": names, "layers": layers, "shared": shared,
        "sizes": [sizes[name] for name in layers],
    }  # fmt: skip


def _build(run: Pruned) -> dict[str, torch.Tensor]:
    from prunefield.core import seeds
    from prunefield.scores import find_prunable

    return dict(find_prunable(run.net.build(run.task.shape, run.task.classes, generator=seeds.generator(0, "init"))))


def _describe_bounds(store: Store, run: Sketch) -> dict[str, Any]:
    """Median error and bounds of a run for s = 1, with the middle 90% of draws; all are proportional to 1/s."""
    record = store.folder(run).read().records[0]
    places = torch.tensor([0.05, 0.5, 0.95], dtype=torch.float64)
    found = {name: (record.tensors[name] * run.kept).quantile(places).tolist() for name in COLUMNS}
    failures = record["printed_failures"] / record["draws"]
    about = {"dimension": run.dimension, "tau": run.tau, "examples": run.examples, "draws": run.draws}
    return {**about, "columns": found, "failures": failures, "run": run.folder}
