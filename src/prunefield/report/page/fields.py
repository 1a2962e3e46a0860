"""Data of the receptive-field explorer: masks and weights of `imp` runs, and what is measured on every unit of them.

A mask of every round is one small number per weight, its fate: the last round in which it is kept. Weights are those
of the rewind point, rounded to 255 levels. Widths are fitted here as `widths` runs do; pre-activations are computed on
the images that `kurtosis` runs draw, if the task can draw them here; Gabor fits are those of `gabors` runs.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from prunefield.core import seeds
from prunefield.core.errors import Error
from prunefield.lab.store import Store
from prunefield.masks.mask import Mask
from prunefield.measures.kurtosis import gaussian_kurtosis, kurtosis_per_class
from prunefield.measures.widths import measure_widths
from prunefield.pruning.rounds import count_lifetimes
from prunefield.report.collecting import explain_problem
from prunefield.report.page.catalogue import name_runs, select_runs
from prunefield.report.page.packing import round_to_bytes
from prunefield.runs import Record
from prunefield.runs.gabors import Gabors
from prunefield.runs.imp import METHODS, Imp, read_masks
from prunefield.runs.kurtosis import Kurtosis, rewound_weight
from prunefield.tasks import Task, draw_balanced
from prunefield.tasks.clone import Clone

RUNS = 12  # that are shown at most
SIDES = (8, 7, 6, 5, 4, 3, 2)  # of the square of units that is shown
SHARE = 2_400_000  # bytes that all of them may take, before they are written as text
Masks = Mapping[str, Sequence[Mask]]  # of every round, by method
IMAGES = 2_000  # for pre-activations, at most
BINS, REACH = 33, 4.0  # of histograms, and their half width in standard deviations


def explore_fields(store: Store, part: int = 0, parts: int = 1) -> tuple[dict[str, Any], dict[str, Any]]:
    """The list of runs, and an island for each of them; or one of several equal parts of both.

    If there are too many, those that most has been measured on are shown.
    """
    gabors, images = select_runs(store, Gabors, 10 * RUNS).runs, select_runs(store, Kurtosis, 10 * RUNS).runs
    measured = Counter(run.of.folder for run in (*gabors, *images))
    listed = select_runs(  # Table S1 trains one step, to count
        store, Imp, RUNS, where=lambda run: run.steps > 1, weigh=lambda run: measured[run.folder]
    )
    side = choose_side(listed.runs)
    names = name_runs(listed.runs, [f"{name_task(run.task)}, seed {run.seed}" for run in listed.runs], ("task", "seed"))
    shown, islands, problems = [], {}, dict(listed.problems)
    for run, name in list(zip(listed.runs, names, strict=True))[part::parts]:
        try:
            records = store.folder(run).read().records
            masks = {method: read_masks(run, records, method) for method in METHODS}
            island = _describe_run(run, records, masks, side**2)
            island["gabors"] = _read_gabors(store, run, masks, gabors)
            per_class = next((one.per_class for one in images if one.of == run and one.layer == 0), 50)
            island["before"] = _measure_before(run, records, masks, island["layers"][0]["units"], per_class)
        except (Error, LookupError, ValueError, RuntimeError) as error:
            problems[run.folder] = explain_problem(error)
        else:
            shown.append({"run": run.folder, "name": name, "narrowed": compare_widths(island["widths"]["imp"])})
            islands[f"fields/{run.folder}"] = island
    return {"runs": shown, "finished": listed.finished, "problems": problems}, islands


def join_fields(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One list of runs from the lists of all parts, in the order in which the page offers them."""
    shown = [one for part in parts for one in part["runs"]]
    # The usual ones first, and of these the most local: the page opens with fields that can be seen to form.
    shown.sort(key=lambda one: (one["name"].startswith("clone"), one["name"].count(","), one["narrowed"], one["name"]))
    seen, places = Counter(), {}
    for one in shown:  # one run of each kind of data before others of it, since the last ones may not fit on the page
        data = one["name"].partition(", seed")[0]
        places[one["run"]] = seen[data]
        seen[data] += 1
    shown.sort(key=lambda one: places[one["run"]])
    runs = [{"run": one["run"], "name": one["name"]} for one in shown]
    problems = {name: text for part in parts for name, text in part["problems"].items()}
    return {"runs": runs, "finished": parts[0]["finished"], "problems": problems}


def compare_widths(widths: np.ndarray) -> float:
    """The median width in the last round over that in the first; infinite if no unit has one."""
    first, last = (round_widths[np.isfinite(round_widths)] for round_widths in (widths[0, :, 0], widths[-1, :, 0]))
    return float(np.median(last) / np.median(first)) if len(first) and len(last) else math.inf


def choose_side(runs: list[Imp]) -> int:
    """The side of the square of units of which all runs together fit into their share."""
    inputs = sum(run.widths[0] for run in runs)
    return next((side for side in SIDES if side**2 * inputs * 2.5 <= SHARE), SIDES[-1])


def name_task(task: Task) -> str:
    """A task in two words.

    >>> from prunefield.tasks.leaves import Leaves
    >>> name_task(Clone(of=Leaves(side=16), per_class=100))
    'clone of leaves 16×16 from 100 per class'
    """
    if isinstance(task, Clone):
        return f"clone of {name_task(task.of)} from {task.per_class} per class"
    return f"{task.kind()} {'×'.join(map(str, task.shape[-2:]))}"


def _describe_run(run: Imp, records: list[Record], masks: Masks, most: int) -> dict[str, Any]:
    fates = {method: count_lifetimes(found) for method, found in masks.items()}
    layers = []
    for layer in range(len(run.hidden)):
        name = f"layers.{layer}.weight"
        kept = (fates["imp"][name] >= run.rounds).sum(1)
        units = kept.argsort(descending=True, stable=True)[:most].sort().values
        weights, unit = round_to_bytes(records[0].tensors[f"rewind:{name}"][units].numpy(), np.int8)
        found = {method: fates[method][name][units].numpy().astype(np.uint8) for method in METHODS}
        shape = run.task.shape if layer == 0 else (1, *_fold(run.hidden[layer - 1]))
        layers.append(
            {"name": name, "units": units.tolist(), "of": run.hidden[layer], "shape": shape, "weights": weights,
             "unit": unit, "fates": found, "density": [mask[name].float().mean().item() for mask in masks["imp"]]}
        )  # fmt: skip
    chosen = torch.tensor(layers[0]["units"])
    widths = {}
    for method, found in masks.items():
        fits = [measure_widths(mask["layers.0.weight"][chosen].view(-1, *run.task.shape)) for mask in found]
        widths[method] = np.stack(
            [np.stack([fit.width_x, fit.width_y, fit.misfit], 1) for fit in fits]
        ).astype(np.float32)  # fmt: skip
    values = [record.values for record in records]
    return {
        "rounds": run.rounds, "layers": layers, "widths": widths, "settings": run.settings(),
        "accuracy": [row["accuracy"] for row in values],
    }  # fmt: skip


def _fold(number: int) -> tuple[int, int]:
    """Height and width of a rectangle of this many cells that is nearly a square."""
    height = next(side for side in range(math.isqrt(number), 0, -1) if number % side == 0)
    return height, number // height


def _read_gabors(store: Store, run: Imp, masks: Masks, runs: list[Gabors]) -> dict[str, Any]:
    """The stored fits of the last masks: for each method the parameters by unit."""
    stored = next((one for one in runs if one.of == run), None)
    if stored is None:
        return {}
    found: dict[str, Any] = {"field": stored.field}
    for record in store.folder(stored).read().records:
        kept = masks[record["method"]][-1]["layers.0.weight"]
        ranked = kept.sum(1).argsort(descending=True, stable=True)[: stored.top].tolist()
        table = {name: tensor.tolist() for name, tensor in record.tensors.items()}
        found[record["method"]] = {
            unit: {name: column[place] for name, column in table.items()} for place, unit in enumerate(ranked)
        }
    return found


def _measure_before(run: Imp, records: list[Record], masks: Masks, units: list[int], per_class: int) -> dict[str, Any]:
    """Histograms and kurtosis of the pre-activations of units of the first layer, for every method and round."""
    classes = run.task.classes
    number = max(4, min(per_class, IMAGES // classes))
    try:
        batch = draw_balanced(run.task, number, generator=seeds.generator(run.seed, "kurtosis"))
    except Error as error:  # the data are not on this machine
        return {"problem": str(error)}
    weight = rewound_weight(run, records[0].tensors, batch.x)[units]
    counts, spread, kurtosis = {}, {}, {}
    for method in METHODS:
        rows = []
        for mask in masks[method]:
            values = batch.x @ (weight * mask["layers.0.weight"][units]).T
            within = kurtosis_per_class(values, batch.y, classes).nanmean(0)
            rows.append((*_count_bins(values), within.numpy().astype(np.float32)))
        counts[method], spread[method], kurtosis[method] = (np.stack(column) for column in zip(*rows, strict=True))
    about = {"images": len(batch.y), "per_class": number, "gaussian": gaussian_kurtosis(number), "reach": REACH}
    return {"counts": counts, "spread": spread, "kurtosis": kurtosis, **about}


def _count_bins(values: torch.Tensor) -> tuple[np.ndarray, np.ndarray]:
    """A histogram of each column around its mean, as shares of its highest bin in 255 levels, and its deviation."""
    spread = values.std(0, correction=0)
    scaled = (values - values.mean(0)) / spread.clamp(min=1e-30)
    bins = ((scaled / REACH + 1) * BINS / 2).long().clamp(0, BINS - 1)
    counts = torch.zeros(values.shape[1], BINS).scatter_add_(1, bins.T, torch.ones_like(scaled).T)
    shares = (255 * counts / counts.amax(1, keepdim=True)).round()
    return shares.numpy().astype(np.uint8), spread.numpy().astype(np.float32)
