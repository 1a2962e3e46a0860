"""From data alone: will a ReLU neuron trained to discriminate two lengthscales localise, and where?"""

import math
from collections.abc import Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import torch
from torch import Tensor

from prunefield.core import seeds
from prunefield.core.errors import UsageError
from prunefield.measures.covariances import measure_lengthscale
from prunefield.measures.examples import PreparedExamples, prepare_examples
from prunefield.measures.excess import estimate_excess
from prunefield.measures.localisation import compute_ipr, locate_peak, measure_ring_distance
from prunefield.measures.predicted import Prediction
from prunefield.measures.resampling import flow_on_sites, flow_on_torus
from prunefield.measures.stimulus import (
    Answer,
    probe_classes,
    probe_dependence,
    probe_force,
    probe_means,
    probe_sign,
    probe_translation,
)
from prunefield.modules.glorot import draw_glorot

# Widths over those from a straight φ: a bump that just fills a ring, 1 + cos, has 0.51 of a flat field's, a wave 2/3.
LOCAL, SPREAD = 0.6, 2 / 3
CERTAIN, LEAST = 0.95, 10  # resamples that can be 95% certain
SCALE = 1e-3  # of the initial weights' variance, as in Fig. 3
INITS, RESAMPLES, FEW = 5, 40, 20  # FEW: resamples where S2 does not hold
DENSE, LARGEST = 512, 4096  # sites at most, where S2 does not hold and where it does
PROBED = 4_000_000  # values on which the properties are tested
S2, FORCE = "S2 translation invariance", "Eq. 5 at these fields"


def predict(
    x: Any,
    y: Any = None,
    shape: Sequence[int] | None = None,
    *,
    inits: int = INITS,
    resamples: int | None = None,
    time: float = 1000.0,
    seed: int = 0,
    generator: torch.Generator | None = None,
) -> Prediction:
    """The prediction for examples x (n, …) with labels y (n,) or None.

    `shape` is that of one input [default: that of x]: (N,), (height, width), or with channels before or after. Of more
    than two classes those with the shortest and the longest lengthscale are compared; without labels class 0 has no
    correlations. Where inputs are translation invariant (S2) covariances are averaged along the ring or torus and lags
    within their noise are 0; elsewhere covariances are shrunk. t = `time` is steps × learning rate. Initial weights and
    resamples come from `generator`, or from `seed`.

    >>> from prunefield import Task
    >>> batch = Task.parse("ising").sample(2000, generator=torch.Generator().manual_seed(0))
    >>> print(str(predict(batch.x, batch.y, resamples=20, inits=2)).split(" (")[0])
    Yes, a ReLU neuron will localise
    """
    for name, value in (("inits", inits), ("resamples", 1 if resamples is None else resamples)):
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
            raise UsageError(f"{name} must be at least 1 and a whole number, not {value!r}")
    if not 0 < time < math.inf:
        raise UsageError(f"time must be above 0 and finite, not {time:g}")
    examples = prepare_examples(x, y, shape)
    stream = generator or seeds.generator(seed, "predict")
    properties = _probe(examples)
    torus = properties[S2].met
    examples, notes = _thin(examples, LARGEST if torus else DENSE)
    start = draw_glorot(inits, int(examples.varies.sum()), 1, scale=SCALE, generator=stream)
    count = resamples if resamples is not None else RESAMPLES if torus else FEW
    short, long = (
        None if part is None else part if torus else part[:, examples.varies]
        for part in (examples.short, examples.long)
    )
    assert long is not None
    found = (flow_on_torus if torus else flow_on_sites)(short, long, start, time, count, stream)

    narrow = compute_ipr(found.straight) / compute_ipr(found.fields)
    verdicts = [judge_widths(ratios) for ratios in narrow]
    leaning = verdicts[0]
    agreeing = verdicts[1:].count(leaning)
    certainty = (agreeing + 0.5) / (count + 1)
    if count < LEAST:
        notes += (f"{count} resamples are too few for an answer, which takes at least {LEAST}",)
    force = None
    if leaning == "yes":
        part = long[: max(1000, PROBED // long[0].numel())]
        shapes = (item.view(inits, *part.shape[1:]) for item in (found.fields[0], found.pull, found.force))
        properties[FORCE] = force = probe_force(part, *shapes, shifts=torus)
        if not force.met:
            notes += ("Eq. 5 gives local fields, but the data do not show the force that it predicts",)
    if float(compute_ipr(found.straight[0]).quantile(0.5)) > 6 / len(start[0]):
        notes += ("the covariances alone make narrow fields here; the answer says whether φ makes them narrower",)
    answer = leaning if certainty >= CERTAIN and (force is None or force.met) else "undecided"
    size = len(long) + (0 if short is None else len(short))
    inside = torch.nonzero(examples.varies)[locate_peak(found.fields)]
    fields = torch.zeros(inits, math.prod(examples.shape), dtype=torch.float64)
    sites = examples.sites[examples.varies]
    fields[:, sites] = found.fields[0]
    return Prediction(
        answer=answer,
        leaning=leaning,
        certainty=certainty,
        needed=None if answer != "undecided" or count < LEAST else estimate_needed(agreeing / count, size, force),
        examples=size,
        time=time,
        shape=examples.shape,
        properties=properties,
        excess=estimate_excess(long),
        fields=fields,
        widths=1 / compute_ipr(found.fields[0]),
        straight=1 / compute_ipr(found.straight[0]),
        concentration=compute_ipr(found.fields[0]) * len(sites),
        peaks=locate_peak(fields),
        steadiness=(_separate(inside[1:], inside[0], examples.grid) <= 1).double().mean(0),
        lengthscale=measure_lengthscale(examples.long),
        covariances=found.rows,
        amplifier=found.curve,
        caveats=(*examples.notes, *notes),
    )


def judge_widths(ratios: Tensor) -> str:
    """`yes` if the median field has at most 0.6 of the width that a straight φ gives it, `no` from 2/3, else undecided.

    Widths are 1/IPR, from the same initial weights. A local field's width is a property of the law, and so is that of a
    wave in parts of the ring: the answer does not depend on how many sites there are, if a bump fits into them.

    >>> judge_widths(torch.tensor([0.1, 0.2, 0.9])), judge_widths(torch.tensor([1.0]))
    ('yes', 'no')
    """
    median = float(ratios.quantile(0.5))
    return "yes" if median <= LOCAL else "no" if median >= SPREAD else "undecided"


def estimate_needed(share: float, examples: int, force: Answer | None = None) -> int | None:
    """Roughly how many examples would decide: errors fall as 1/√n, so that a `share` Φ(z) of resamples becomes 95%.

    The same holds for a `force` that is not yet significant. None where so few resamples agree, or the force is so
    weak, that it cannot be said.

    >>> estimate_needed(0.8, 1000)
    4000
    """
    asked = float(torch.special.ndtri(torch.tensor(CERTAIN)))
    scores = [float(torch.special.ndtri(torch.tensor(min(share, CERTAIN))))]
    if force is not None and not force.met:
        scores.append(force.z)
    if min(scores) < 0.13:  # a share of 55%
        return None
    needed = max(2.0, (asked / min(scores)) ** 2) * examples
    unit = 10 ** int(math.log10(needed))
    return math.ceil(needed / unit) * unit


def _probe(examples: PreparedExamples) -> dict[str, Answer]:
    """The properties on which the theory rests, on as many examples as have 4 million values."""
    most = max(1000, PROBED // examples.sites.numel())
    long = examples.long[:most]
    short = None if examples.short is None else examples.short[:most]
    x = long if short is None else torch.cat([short, long])[:: 1 + (len(short) + len(long) > most)]
    found = {
        "S1 weak dependence": probe_dependence(x),
        S2: probe_translation(x),
        "S3 sign symmetry": probe_sign(x),
    }
    if short is not None:
        found["equal class means"] = probe_means(short, long)
        found["labels depend on x"] = probe_classes(short, long)
    return found


def _thin(examples: PreparedExamples, most: int) -> tuple[PreparedExamples, tuple[str, ...]]:
    """Keeps every second site, repeatedly, until there are at most `most`; each class is centred."""
    step = 1
    while examples.varies[(slice(None, None, step),) * examples.sites.ndim].sum() > most:
        step *= 2
    every = (slice(None, None, step),) * examples.sites.ndim
    short, long = (
        None if part is None else (part - part.mean(0))[:, *every] for part in (examples.short, examples.long)
    )
    assert long is not None
    what = "rows and columns" if examples.sites.ndim == 2 else "inputs"
    notes = (f"only one in {step} {what} is used, so that there are at most {most} sites",) if step > 1 else ()
    return replace(examples, short=short, long=long, sites=examples.sites[every], varies=examples.varies[every]), notes


def _separate(first: Tensor, second: Tensor, grid: Sequence[int]) -> Tensor:
    """The distance of sites on a ring or torus, positions being (…, axes): the larger of those along the axes."""
    return torch.stack(
        [measure_ring_distance(first[..., axis], second[..., axis], size) for axis, size in enumerate(grid)]
    ).amax(0)
