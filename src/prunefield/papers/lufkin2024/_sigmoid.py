"""The sigmoid networks of `lufkin2024/fig7`: which of them decide, and what is asked of their units."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from prunefield.papers import OPEN, Frame, Verdict, numbers, rows
from prunefield.papers.lufkin2024._fields import NOISE
from prunefield.papers.lufkin2024._units import WHITE, judge_signs, list_weights, show_median_range
from prunefield.runs import Result
from prunefield.runs.committee import Committee
from prunefield.runs.neuron import Neuron

SIGMOID = "two-layer, K = 10, sigmoid"
LEAST = 4  # of the later networks must not have diverged
GUESS = 0.5  # the loss of answering always 0, or always 1


def describe_networks(run: Committee | Neuron, result: Result) -> list[dict[str, int]]:
    """For each unit of a run its seed, and whether its network has finished, and not diverged."""
    last, units = result.records[-1], len(list_weights(run, result))
    finished = np.ones(units, dtype=bool)
    if isinstance(run, Committee) and run.diverging == "stop":
        good = (last.tensors["loss"].numpy() <= GUESS) & (last["step"] == run.steps)
        finished = good.repeat(run.hidden)
    return [{"seed": run.seed, "finished": int(one)} for one in finished]


def choose_sigmoid(table: Frame) -> Frame:
    """The units that decide the claims on sigmoid units: of the largest rate, which is the authors', those of the later
    networks that have finished, where there are such networks.
    """
    units = rows(table, network=SIGMOID, data="Kur(4)")
    units = rows(units, rate=units["rate"].max())
    later = units[units["seed"] > 0]
    return rows(later if len(later) else units, finished=1)


def find_too_few(table: Frame) -> str:
    """How many of the later networks have finished, if too few have; else nothing."""
    later, left = rows(table, network=SIGMOID, data="Kur(4)"), choose_sigmoid(table)["seed"].nunique()
    planned = later[later["seed"] > 0]["seed"].nunique()
    return f"{left} of {planned} networks did not diverge (at least {LEAST} decide)" if planned and left < LEAST else ""


def judge_sigmoid(table: Frame, is_good: Callable[[Frame], np.ndarray], check: Callable[[Frame], Verdict]) -> Verdict:
    """The verdict on the sigmoid units that decide; in the note their networks, and the units that do not decide."""
    units, chosen = rows(table, network=SIGMOID, data="Kur(4)"), choose_sigmoid(table)
    later = rows(units[units["seed"] > 0])
    notes = []
    if len(later):
        each = ", ".join(f"{is_good(part).sum()} of {len(part)}" for _, part in chosen.groupby("seed"))
        lost = [str(seed) for seed in rows(later, finished=0)["seed"].unique()]
        notes += [f"by network: {each or '0'}"]
        notes += [f"{len(lost)} of {later['seed'].nunique()} networks diverged (seeds {', '.join(lost)})"] * bool(lost)
        others = {"the network of laptop scale": rows(units, rate=units["rate"].max(), seed=0)}
    else:
        others = {}
    others |= {f"rate {rate:g}": part for rate, part in units.groupby("rate") if rate < units["rate"].max()}
    notes += [f"with {name}: {check(part).observed}" for name, part in others.items()]
    if few := find_too_few(table):
        return Verdict(OPEN, few, max(len(chosen), 1), "; ".join(notes))
    return replace(check(chosen), note="; ".join(notes))


def is_diffuse(units: Frame) -> np.ndarray:
    return numbers(units, "ipr_n") <= NOISE


def is_high(units: Frame) -> np.ndarray:
    """Which units have a larger mean wave number than white noise?"""
    return numbers(units, "wave") > WHITE


def judge_high(units: Frame) -> Verdict:
    """Do more of the units have a larger mean wave number than white noise than expected by chance?"""
    wave, limit = numbers(units, "wave") * numbers(units, "size"), WHITE * numbers(units, "size")
    return judge_signs(
        is_high(units), f"mean wave number {show_median_range(wave)}, above the {limit[0]:g} of white noise"
    )
