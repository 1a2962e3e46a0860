"""Pruning of any network: score, keep or sample, score what is left, until a density is reached (bar2023, Sec. 8)."""

import warnings
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any, Literal, get_args

import torch
from torch import nn

from prunefield.core import seeds
from prunefield.core.errors import PruneWarning, UsageError, unknown
from prunefield.masks.mask import Mask
from prunefield.masks.selection import Density, Reduction, Scope, count_kept
from prunefield.measures.collapse import describe_collapse
from prunefield.modules.borrowing import lend_copies
from prunefield.modules.calls import Data, Forward, Loss, take_batches
from prunefield.modules.faults import explain_zeros
from prunefield.modules.holding import set_zeros
from prunefield.modules.naming import check_network
from prunefield.pruning.schedules import Schedule, plan_densities
from prunefield.scores import Score

Sampling = Literal["never", "last", "every"]


def prune(
    net: nn.Module,
    score: Score | str | Mapping[str, Any],
    density: Density,
    data: Data = (),
    *,
    start: Mask | None = None,
    iterations: int | None = None,
    schedule: Schedule = "exponential",
    scope: Scope = "global",
    sample: Sampling = "never",
    reduce: Reduction | None = None,
    alpha: float = 0.0,
    floor: int = 0,
    forward: Forward | None = None,
    loss: Loss | None = None,
    seed: int = 0,
    generator: torch.Generator | None = None,
    check: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Mask:
    """The mask of a network at a density; the network itself stays as it is.

    `score` is a name, a table of settings (`{"kind": "snip", "skip": "head"}`) or a `Score`: it has a default number of
    `iterations` and knows how much of the data it reads. `data` is a `DataLoader`, a pair (inputs, labels), a dict or a
    list of these; a function is called for new data in every iteration; scores that read none need none. `forward(net,
    batch)` calls the network where `net(inputs)` does not, `loss(outputs, labels)` replaces the score's own. What the
    mask `start` or an iteration has pruned never returns; for weights that the score skips, the mask has the entries of
    `start`. `sample` says when the mask is drawn at random instead of kept by rank: the paper leaves open whether it is
    in the last iteration or in each. Random numbers come from `generator`, or from `seed`. With `check`, a
    `PruneWarning` says what collapsed. `progress` is called after each iteration with the number done and the total.
    The other settings are those of `Mask.sample`.

    >>> net = nn.Sequential(nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 2))
    >>> prune(net, "synflow", density=0.25, data=torch.ones(1, 8))
    Mask(2 layers, 15 of 60 weights, density 0.25)
    """
    if sample not in get_args(Sampling):
        raise unknown("sampling", sample, get_args(Sampling))
    if sample == "never" and (reduce is not None or alpha):
        raise UsageError("reduce and alpha are for sampled masks, but sample is 'never'; choose 'last' or 'every'")
    if not 0 <= alpha <= 1:
        raise UsageError(f"alpha is the uniform share of the mixture, between 0 and 1 (got {alpha})")
    check_network(net)
    if start is not None and not isinstance(start, Mask):
        raise UsageError(f"start must be a Mask, as in Mask({{name: kept}}), not {type(start).__name__}")
    score = Score.parse(score)
    stream = seeds.generator(seed, "mask") if generator is None else generator
    iterations = score.iterations if iterations is None else iterations
    given = weights = score.weights(net)
    total = sum(weight.numel() for weight in weights.values())
    alive = None
    if start is not None:
        whole = {name: torch.ones(weight.shape, dtype=torch.bool) for name, weight in weights.items()}
        alive = Mask({name: start.get(name, kept) for name, kept in whole.items()})
    densities = plan_densities(density, iterations, schedule, initial=alive.density if alive else 1.0)
    hooks: dict[str, Any] = {key: hook for key, hook in (("forward", forward), ("loss", loss)) if hook is not None}
    fresh = callable(data) and not isinstance(data, Iterable)
    batches = [] if fresh else take_batches(data, score.needs, generator=stream)
    with ExitStack() as loan:
        for step, wanted in enumerate(densities, 1):
            if alive is not None:
                if step == 1 or weights is given:  # the first time that there is something to prune
                    loan.enter_context(lend_copies(net, {*weights, *(start or ())}))
                    (alive if start is None else start).apply_(net)  # `start` may name what the network does not have
                    weights = score.weights(net)
                set_zeros([(weights[name], kept.to(weights[name].device)) for name, kept in alive.items()])
            if fresh:
                batches = take_batches(data, score.needs, generator=stream)
            rate = partial(score, net, batches, generator=stream, **hooks)
            scores = {name: values.to("cpu") for name, values in rate().items()}
            if progress is not None:
                progress(step, iterations)
            if alive and step < iterations and count_kept(total, wanted) >= sum(alive.counts().values()):
                continue  # rounding left nothing to remove
            if alive is None:
                explain_zeros(net, scores, rate)
            how = {"scope": scope, "start": alive, "floor": floor}
            if sample == "every" or (sample == "last" and step == iterations):
                alive = Mask.sample(scores, wanted, generator=stream, reduce=reduce, alpha=alpha, **how)
            else:
                alive = Mask.keep(scores, wanted, **how)
    assert alive is not None
    found = Mask({**alive, **{name: kept for name, kept in (start or {}).items() if name not in alive}})
    if check:
        shape = getattr(score, "shape", ())
        shown = batches[:1] or (shape and [torch.ones(1, *shape)]) or take_batches(data, "shape", generator=stream)
        for line in describe_collapse(net, found, shown, forward=forward, skip=score.skip):
            warnings.warn(line, PruneWarning, stacklevel=2)
    return found
