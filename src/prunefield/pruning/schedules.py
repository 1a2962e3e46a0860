"""Schedules: a network is scored and pruned repeatedly until its density is reached (bar2023, Section 8)."""

import warnings
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from fractions import Fraction
from functools import partial
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor, nn

from prunefield.core.errors import PruneWarning, UsageError, unknown
from prunefield.masks.mask import Mask
from prunefield.masks.selection import Density, Reduction, Scope, count_kept
from prunefield.measures.collapse import describe_collapse
from prunefield.modules.borrowing import lend_copies
from prunefield.modules.calls import Data, Forward, Loss, take_batches
from prunefield.modules.faults import explain_zeros
from prunefield.scores import Score

Schedule = Literal["exponential", "linear"]
Sampling = Literal["never", "last", "every"]


def plan(density: Density, iterations: int, schedule: Schedule = "exponential", *, start: float = 1.0) -> list[Density]:
    """The densities after each iteration t = 1, …, T, the last one exactly `density`; T = 1 is one-shot pruning.

    `exponential`: ρ_t = start·(ρ/start)^{t/T}, as SynFlow's 100 iterations; `linear`: start − (start − ρ)·t/T.

    >>> plan(0.25, 2), plan(0.25, 3, "linear")
    ([0.5, 0.25], [0.75, 0.5, 0.25])
    """
    if schedule not in get_args(Schedule):
        raise unknown("schedule", schedule, get_args(Schedule))
    if iterations < 1:
        raise UsageError(f"iterations must be at least 1, not {iterations}")
    count_kept(1, density)  # refuses a density outside of its range
    end, shares = float(Fraction(str(density))), [t / iterations for t in range(1, iterations)]
    if schedule == "exponential":
        return [*(start * (end / start) ** share for share in shares), density]
    return [*(start - (start - end) * share for share in shares), density]


def shrink(
    net: nn.Module,
    score: Score | str,
    density: Density,
    data: Data = (),
    *,
    generator: torch.Generator,
    iterations: int | None = None,
    schedule: Schedule = "exponential",
    scope: Scope = "global",
    sample: Sampling = "never",
    reduce: Reduction | None = None,
    alpha: float = 0.0,
    floor: int = 0,
    mask: Mask | None = None,
    forward: Forward | None = None,
    loss: Loss | None = None,
    check: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Mask:
    """The mask of any network at a density: score, keep or sample, score what is left, and so on.

    The network itself stays as it is. `data` is a `DataLoader`, a pair (inputs, labels), a dict or a list of these; a
    function is asked for new data in every iteration. The score says how many `iterations` are usual, and what of the
    data it reads. `forward(net, batch)` calls the network where `net(inputs)` does not, `loss(outputs, labels)`
    replaces the score's own. What `mask` or an iteration has pruned never returns; what `mask` says of weights that the
    score skips is part of the answer. `sample` says when the mask is drawn at random instead of kept by rank: the paper
    leaves open whether it is in the last iteration or in each. With `check`, a `PruneWarning` says what collapsed.
    `progress` is called after each iteration with the number done and the total. The other settings are those of
    `Mask`.

    >>> net = nn.Sequential(nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 2))
    >>> shrink(net, "synflow", 0.25, torch.ones(1, 8), generator=torch.Generator())
    Mask(2 layers, 15 of 60 weights)
    """
    if sample not in get_args(Sampling):
        raise unknown("sampling", sample, get_args(Sampling))
    score = Score.parse(score)
    iterations = score.iterations if iterations is None else iterations
    given = weights = score.weights(net)
    total = sum(weight.numel() for weight in weights.values())
    alive = None
    if mask is not None:
        whole = {name: torch.ones(weight.shape, dtype=torch.bool) for name, weight in weights.items()}
        alive = Mask({name: mask.get(name, kept) for name, kept in whole.items()})
    densities = plan(density, iterations, schedule, start=alive.density if alive else 1.0)
    hooks: dict[str, Any] = {key: hook for key, hook in (("forward", forward), ("loss", loss)) if hook is not None}
    fresh = callable(data) and not isinstance(data, Iterable)
    batches = [] if fresh else take_batches(data, score.needs, generator=generator)
    with ExitStack() as loan:
        for step, wanted in enumerate(densities, 1):
            if alive is not None:
                if step == 1 or weights is given:  # the first time that there is something to prune
                    loan.enter_context(lend_copies(net, {*weights, *(mask or ())}))
                    (alive if mask is None else mask).apply_(net)  # the given one names what the network does not have
                    weights = score.weights(net)
                for name, kept in alive.items():
                    _mask(weights[name].detach(), kept)
            if fresh:
                batches = take_batches(data, score.needs, generator=generator)
            rate = partial(score, net, batches, generator=generator, **hooks)
            scores = {name: values.to("cpu") for name, values in rate().items()}
            if progress is not None:
                progress(step, iterations)
            if alive and step < iterations and count_kept(total, wanted) >= sum(alive.counts().values()):
                continue  # rounding left nothing to remove
            if alive is None:
                explain_zeros(net, scores, rate)
            how = {"scope": scope, "within": alive, "floor": floor}
            if sample == "every" or (sample == "last" and step == iterations):
                alive = Mask.sample(scores, wanted, generator=generator, reduce=reduce, alpha=alpha, **how)
            else:
                alive = Mask.keep(scores, wanted, **how)
    assert alive is not None
    found = Mask({**alive, **{name: kept for name, kept in (mask or {}).items() if name not in alive}})
    if check:
        shape = getattr(score, "shape", ())
        shown = batches[:1] or (shape and [torch.ones(1, *shape)]) or take_batches(data, "shape", generator=generator)
        for line in describe_collapse(net, found, shown, forward=forward, skip=score.skip):
            warnings.warn(line, PruneWarning, stacklevel=2)
    return found


def _mask(weight: Tensor, kept: Tensor) -> None:
    """Sets pruned weights to zero; by numpy where it can, which is ten times as fast as torch."""
    if weight.device.type == "cpu" and weight.dtype in (torch.float32, torch.float64):
        np.multiply(weight.numpy(), kept.numpy(), out=weight.numpy())
    else:
        weight.masked_fill_(~kept.to(weight.device), 0)
