"""Pruning by magnitude as redman2025 does it: iterative, one-shot and random masks with the same exact counts.

Weights and biases of a layer are ranked together, so these masks name biases too.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import torch
from torch import Tensor

from prunefield.masks.mask import Mask, keep_largest

Scope = Literal["layer", "global"]


def removed_after(rounds: int, fraction: float) -> float:
    """The removed fraction r_n = r_{n−1} + fraction·(1 − r_{n−1}) after `rounds` rounds (redman2025, Sec. 2.1).

    >>> round(removed_after(10, 0.3), 10)
    0.9717524751
    """
    removed = 0.0
    for _ in range(rounds):
        removed += fraction * (1 - removed)
    return removed


def pools(layers: Sequence[str], scope: Scope) -> list[list[str]]:
    """The names of the parameters that share one threshold: those of each layer, or all.

    >>> pools(["layers.0", "layers.1"], "layer")
    [['layers.0.weight', 'layers.0.bias'], ['layers.1.weight', 'layers.1.bias']]
    """
    each = [[f"{layer}.weight", f"{layer}.bias"] for layer in layers]
    return each if scope == "layer" else [[name for names in each for name in names]]


def prune(
    values: Mapping[str, Tensor],
    pools: Sequence[Sequence[str]],
    removed: float,
    old: Mapping[str, Tensor] | None = None,
) -> Mask:
    """Keeps the entries of greatest |value| of each pool, exactly len − int(removed·len) of them.

    An entry that `old` has pruned stays pruned. Of equal entries the one with the lower index is kept; the reference
    code keeps all that equal the threshold, so its counts are the same whenever no two magnitudes are.

    >>> table = {"w": torch.tensor([3.0, -1.0, 2.0]), "b": torch.tensor([1.0])}
    >>> {name: mask.tolist() for name, mask in prune(table, [["w", "b"]], 0.5).items()}
    {'w': [True, False, True], 'b': [False]}
    """
    masks: dict[str, Tensor] = {}
    for names in pools:
        magnitudes = [values[name].detach().abs() for name in names]
        if old is not None:
            magnitudes = [item.masked_fill(~old[name], -1) for name, item in zip(names, magnitudes, strict=True)]
        pool = torch.cat([item.flatten() for item in magnitudes])
        parts = keep_largest(pool, len(pool) - int(removed * len(pool))).split([item.numel() for item in magnitudes])
        masks |= {name: part.view_as(values[name]) for name, part in zip(names, parts, strict=True)}
    return Mask(masks)


def oneshot(values: Mapping[str, Tensor], pools: Sequence[Sequence[str]], rounds: int, fraction: float) -> list[Mask]:
    """The masks of rounds 0, …, `rounds` from the magnitudes of one trained dense net; they are nested."""
    return [prune(values, pools, removed_after(n, fraction)) for n in range(rounds + 1)]


def random(
    shapes: Mapping[str, Sequence[int]],
    pools: Sequence[Sequence[str]],
    rounds: int,
    fraction: float,
    *,
    generator: torch.Generator,
) -> list[Mask]:
    """Nested random masks with the counts of iterative pruning: one-shot masks of a random permutation per pool."""
    ranks: dict[str, Tensor] = {}
    for names in pools:
        sizes = [torch.Size(shapes[name]).numel() for name in names]
        order = torch.randperm(sum(sizes), generator=generator).split(sizes)
        ranks |= {name: part.view(*shapes[name]) for name, part in zip(names, order, strict=True)}
    return oneshot(ranks, pools, rounds, fraction)


def lifetimes(masks: Sequence[Mask]) -> dict[str, Tensor]:
    """Nested masks m(0), …, m(R) as one small integer per entry: the last round in which it is kept.

    >>> stack = [Mask({"w": torch.tensor(keep)}) for keep in ([True, True], [True, False], [True, False])]
    >>> lifetimes(stack)["w"].tolist()
    [2, 0]
    """
    return {name: torch.stack([mask[name] for mask in masks[1:]]).sum(0, dtype=torch.uint8) for name in masks[0]}


def alive(lifetime: Mapping[str, Tensor], after: int) -> Mask:
    """The mask m(after) of what `lifetimes` gives."""
    return Mask({name: item >= after for name, item in lifetime.items()})
