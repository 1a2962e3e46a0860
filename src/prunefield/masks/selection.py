"""Selection: how many weights each layer keeps, and which, by rank or by sampling. Scores here are flat tensors."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from math import isfinite, prod
from numbers import Integral
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor

from prunefield.core.errors import UsageError, unknown
from prunefield.theory.sketching import mix_uniform

Density = float | Fraction | Decimal
Scope = Literal["global", "layer", "uniform", "erk"]
Reduction = Literal["abs", "shift", "rank", "positive"]
MANY, STRIDE = 100_000, 64  # above MANY scores, every STRIDE-th score is used to bracket the threshold
PIECE = 2**16  # number of scores compared or drawn at a time
Piece = tuple[np.ndarray, np.ndarray | None, np.ndarray]  # scores, which are alive, which are kept


def count_kept(size: int, density: Density) -> int:
    """The number of `size` weights that a density keeps: size − int((1 − density)·size), in exact arithmetic.

    >>> count_kept(276_656, 0.1), count_kept(10, 0.9)  # in floats, (1 − 0.9)·10 is just below 1 and would prune nothing
    (27666, 9)
    """
    try:
        exact = Fraction(str(density))  # the decimal that was written, not the nearest binary number
    except (ValueError, ZeroDivisionError):
        exact = Fraction(0)
    if not 0 < exact <= 1:
        raise UsageError(f"density is the kept fraction, above 0 and at most 1 (got {density})")
    return size - int((1 - exact) * size)


def keep_largest(values: Tensor, number: int, alive: Tensor | None = None) -> Tensor:
    """True at the `number` largest of flat values that are `alive`; of equal values, at those with lower indices.

    >>> keep_largest(torch.tensor([1.0, 2.0, 1.0, 1.0]), 2).tolist()
    [True, True, False, False]
    """
    return rank_scores([values], number, [alive])[0]


def rank_scores(flat: Sequence[Tensor], number: int, alive: Sequence[Tensor | None]) -> list[Tensor]:
    """`keep_largest` for several tensors as if they were one, without concatenating them."""
    kept = [torch.zeros(values.shape, dtype=torch.bool) for values in flat]
    if number == 0:
        return kept
    pieces = [piece for item in zip(flat, alive, kept, strict=True) for piece in _cut_pieces(*item)]
    threshold = _find_threshold(pieces, number)
    spare = -number
    for array, live, part in pieces:
        np.greater_equal(array, threshold, out=part)
        if live is not None:
            part &= live
        spare += np.count_nonzero(part)
    for array, _, part in reversed(pieces):
        if not spare:
            break
        ties = np.flatnonzero(part & (array == threshold))[-spare:]  # those with the highest indices are dropped
        part[ties] = False
        spare -= len(ties)
    return kept


def _cut_pieces(values: Tensor, alive: Tensor | None, kept: Tensor) -> Iterator[Piece]:
    """Views of the three at the same positions, in chunks that fit into the cache."""
    array, live, part = values.detach().cpu().numpy(), None if alive is None else alive.numpy(), kept.numpy()
    for start in range(0, len(array), PIECE):
        here = slice(start, start + PIECE)
        yield array[here], None if live is None else live[here], part[here]


def _find_threshold(pieces: Sequence[Piece], number: int) -> np.generic:
    """The `number`-th largest value that is alive.

    If there are many, a sample first brackets it, so that only a few values need to be ranked; if the bracket turns
    out to be wrong, all are. The result is the same.
    """
    if sum(len(array) for array, _, _ in pieces) > MANY:
        sample = np.sort(_join_pieces(pieces, STRIDE))
        if len(sample) > STRIDE:
            alive = sum(len(array) if live is None else np.count_nonzero(live) for array, live, _ in pieces)
            place, margin = (1 - number / alive) * len(sample), 4 * len(sample) ** 0.5
            low, high = (sample[int(min(max(place + shift, 0), len(sample) - 1))] for shift in (-margin, margin))
            left, between = number, []
            for array, live, _ in pieces:
                above, inside = array > high, array >= low
                if live is not None:
                    above, inside = above & live, inside & live
                left -= np.count_nonzero(above)
                between.append(array[np.flatnonzero(above ^ inside)])
            few = np.concatenate(between)
            if 0 < left <= len(few):
                return np.partition(few, len(few) - left)[len(few) - left]
    joined = _join_pieces(pieces)
    return np.partition(joined, len(joined) - number)[len(joined) - number]


def _join_pieces(pieces: Sequence[Piece], stride: int = 1) -> np.ndarray:
    # Indexing by positions is three times as fast as by booleans.
    return np.concatenate(
        [
            array[::stride] if live is None else array[::stride][np.flatnonzero(live[::stride])]
            for array, live, _ in pieces
        ]
    )


def check_scores(scores: Mapping[str, Tensor], *, dead: bool = False) -> dict[str, Tensor]:
    """The scores, flat and of one type that keeps their order; layers of all-zero scores are refused unless `dead`."""
    if wrong := next((name for name, score in scores.items() if not isinstance(score, Tensor)), None):
        raise UsageError(f"scores must be tensors, {wrong!r} is {type(scores[wrong]).__name__}; use torch.as_tensor")
    if not sum(score.numel() for score in scores.values()):
        raise UsageError("there are no weights to prune: the scores are empty")
    wide = any(score.dtype not in (torch.float32, torch.float16, torch.bfloat16) for score in scores.values())
    flat = {}
    for name, score in scores.items():
        if score.is_complex():
            raise UsageError(
                f"the scores of {name!r} are complex numbers, which have no order; use their absolute values"
            )
        values = score.detach().flatten().to("cpu", torch.float64 if wide else torch.float32)
        # A finite sum has finite terms and a non-zero sum has a non-zero term; sums are ten times as fast.
        total = values.sum().item()
        if not isfinite(total) and not values.isfinite().all():
            raise UsageError(f"the scores of {name!r} are not all finite; look for an overflow in the network")
        if not dead and total == 0 and len(values) and not torch.count_nonzero(values):
            look = "look for dead units, an underflow (synflow: double=True) or a layer of zeros (`prune` names it)"
            advice = f"{look}, or set skip={name!r}"
            raise UsageError(f"all scores of {name!r} are zero: there is no gradient or no weight; {advice}")
        flat[name] = values
    return flat


def select_weights(
    flat: Mapping[str, Tensor],
    density: Density,
    *,
    scope: Scope,
    shapes: Mapping[str, Sequence[int]],
    alive: Mapping[str, Tensor],
    floor: int,
) -> dict[str, Tensor]:
    """True at the largest scores: exactly as many as the density requires of all weights, only where `alive`."""
    if scope not in get_args(Scope):
        raise unknown("scope", scope, get_args(Scope))
    sizes = {name: len(values) for name, values in flat.items()}
    room = {name: int(np.count_nonzero(alive[name])) if name in alive else size for name, size in sizes.items()}
    number = count_kept(sum(sizes.values()), density)
    if not isinstance(floor, Integral) or floor < 0:
        raise UsageError(f"floor must be a whole number and at least 0, not {floor!r}")
    if scope != "layer" and sum(min(floor, free) for free in room.values()) > number:
        raise UsageError(f"floor {floor} in each of {len(sizes)} layers is more than the {number} weights kept in all")
    if scope != "layer" and number > sum(room.values()):
        raise UsageError(f"density {density} asks for {number} weights, but the mask leaves only {sum(room.values())}")
    if scope == "global":
        return _select_globally(flat, number, alive, {name: min(floor, free) for name, free in room.items()})
    if scope == "layer":
        counts = {name: max(count_kept(size, density), min(floor, room[name])) for name, size in sizes.items()}
    else:
        counts = allocate_weights(shapes, number, scope=scope, room=room, floor=floor)
    for name, asked in counts.items():
        if asked > room[name]:
            message = f"density {density} asks for {asked} weights of {name!r}"
            raise UsageError(f"{message}, but the mask leaves {room[name]}")
    return {name: keep_largest(values, counts[name], alive.get(name)) for name, values in flat.items()}


def _select_globally(
    flat: Mapping[str, Tensor], number: int, alive: Mapping[str, Tensor], floors: Mapping[str, int]
) -> dict[str, Tensor]:
    """The largest of all layers; if a layer would fall below its floor, its own largest come first."""
    lives = [alive.get(name) for name in flat]
    parts = dict(zip(flat, rank_scores(list(flat.values()), number, lives), strict=True))
    if not any(floors.values()) or all(int(torch.count_nonzero(parts[name])) >= floors[name] for name in flat):
        return parts
    best = {name: keep_largest(values, floors[name], alive.get(name)) for name, values in flat.items()}
    held = [values.masked_fill(best[name], torch.inf) for name, values in flat.items()]
    return dict(zip(flat, rank_scores(held, number, lives), strict=True))


def gather_alive(values: Tensor, alive: Tensor | None) -> Tensor:
    """The entries that are alive; numpy is several times as fast as torch here."""
    return values if alive is None else torch.from_numpy(values.numpy()[alive.numpy()])


def scatter_alive(part: Tensor, alive: Tensor | None) -> Tensor:
    """Puts booleans for the entries that are alive back into their positions among all.

    >>> scatter_alive(torch.tensor([True, False]), torch.tensor([False, True, True])).tolist()
    [False, True, False]
    """
    return part if alive is None else torch.zeros_like(alive).masked_scatter_(alive, part)


def allocate_weights(
    shapes: Mapping[str, Sequence[int]], number: int, *, scope: Scope, room: Mapping[str, int], floor: int = 0
) -> dict[str, int]:
    """Allocates exactly `number` weights to layers, none above `room` or below `floor`.

    `uniform`: in proportion to a layer's size. `erk` (Erdős–Rényi kernel): in proportion to the sum of its dimensions,
    so its density is ∝ (sum of dimensions)/(product of dimensions). When a layer is full, the rest goes to the others.
    Fractions are rounded down, and what is left goes to the largest remainders, earlier layers first.

    >>> allocate_weights({"a": (10, 10), "b": (2, 50)}, 20, scope="uniform", room={"a": 100, "b": 100})
    {'a': 10, 'b': 10}
    >>> allocate_weights({"a": (10, 10), "b": (2, 50)}, 36, scope="erk", room={"a": 100, "b": 100})
    {'a': 10, 'b': 26}
    """
    share = {name: Fraction(prod(shape) if scope == "uniform" else sum(shape)) for name, shape in shapes.items()}

    def fill(level: Fraction) -> dict[str, Fraction]:
        return {name: min(max(level * share[name], Fraction(floor)), Fraction(room[name])) for name in share}

    # The total is piecewise linear in the level: find the piece, then the position within it.
    bends = sorted({Fraction(bound) / part for name, part in share.items() if part for bound in (0, floor, room[name])})
    low = max(bend for bend in bends if sum(fill(bend).values()) <= number)
    high = min((bend for bend in bends if bend > low), default=low)
    rise = sum(fill(high).values()) - sum(fill(low).values())
    exact = fill(low + (high - low) * (number - sum(fill(low).values())) / rise if rise else low)
    counts = {name: int(part) for name, part in exact.items()}
    order = sorted(exact, key=lambda name: counts[name] - exact[name])
    for name in order[: number - sum(counts.values())]:
        counts[name] += 1
    return counts


def compute_probabilities(values: Tensor, name: str, reduce: Reduction | None, alpha: float) -> Tensor:
    """Sampling probabilities from one layer's scores, up to a factor.

    `abs` |s|; `shift` s − min s; `rank` 1, 2, … from the smallest (of equal scores, the lower index ranks higher);
    `positive` max(s, 0); None takes non-negative scores as they are. Then the defensive mixture (1 − α)·p + α/d
    (`theory.sketching.mix_uniform`), which gives every weight a positive probability.

    >>> scores, ways = torch.tensor([-1.0, 3.0]), ("abs", "shift", "rank", "positive")
    >>> [compute_probabilities(scores, "w", how, 0.0).tolist() for how in ways]
    [[1.0, 3.0], [0.0, 4.0], [1.0, 2.0], [0.0, 3.0]]
    """
    if reduce not in (None, *get_args(Reduction)):
        raise unknown("reduction", reduce, get_args(Reduction))
    if reduce is None and len(values) and values.min() < 0:
        advice = ", ".join(f"reduce={how!r}" for how in get_args(Reduction))
        raise UsageError(f"sampling needs scores ≥ 0, but {name!r} has negative ones; choose {advice}")
    if reduce == "abs":
        values = values.abs()
    elif reduce == "shift":
        values = values - values.min() if len(values) else values
    elif reduce == "positive":
        values = values.clamp(min=0)
    elif reduce == "rank":
        order = torch.argsort(values.flip(0), stable=True)
        values = torch.empty_like(values, dtype=torch.float64)
        values[len(order) - 1 - order] = torch.arange(1.0, len(order) + 1, dtype=torch.float64)
    if alpha and len(values):
        total = values.double().sum()
        values = mix_uniform(values / total if total > 0 else torch.zeros_like(values), alpha)
    return values


def draw_entries(values: Tensor, number: int, name: str, *, generator: torch.Generator) -> Tensor:
    """True at `number` entries, drawn one by one without replacement, each with a probability ∝ its value.

    An exponential race (Gumbel top-k without logarithms): the `number` largest of value/Exponential(1) are such a
    draw. It works for any number of entries (`torch.multinomial` is limited to 2²⁴).

    >>> draw_entries(torch.tensor([1.0, 0.0, 1.0]), 2, "w", generator=torch.Generator()).tolist()
    [True, False, True]
    """
    positive = int(torch.count_nonzero(values))
    if positive < number:
        message = f"{name!r}: only {positive} of {values.numel()} scores are positive, so "
        warnings.warn(f"{message}{number - positive} weights are kept by index", stacklevel=3)
    scale = values.max().double().clamp(min=1) if positive else 1.0  # prevents overflow
    # Double precision, because single-precision noise has ties among millions of weights; in pieces that fit the cache.
    keys = torch.empty(values.numel(), dtype=torch.float64)
    for part, key in zip(values.split(PIECE), keys.split(PIECE), strict=True):
        noise = torch.empty_like(key, device=generator.device).exponential_(generator=generator)
        torch.div(part, noise.clamp_(min=1e-300).cpu().mul_(scale), out=key)
    return keep_largest(keys, number)
