"""Pruning by magnitude in rounds, as redman2025 does it: iterative, one-shot and random masks of the same exact counts.

Weights and biases of a layer are ranked together, so these masks name biases too.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import torch
from torch import Tensor

from prunefield.masks.mask import Mask
from prunefield.masks.selection import rank_scores


def compute_removed(rounds: int, fraction: float) -> float:
    """The removed fraction r_n = r_{n−1} + fraction·(1 − r_{n−1}) after `rounds` rounds (redman2025, Sec. 2.1).

    >>> round(compute_removed(10, 0.3), 10)
    0.9717524751
    """
    removed = 0.0
    for _ in range(rounds):
        removed += fraction * (1 - removed)
    return removed


def group_parameters(layers: Sequence[str], scope: Literal["layer", "global"]) -> list[list[str]]:
    """The names of the parameters that share one threshold: those of each layer, or all.

    >>> group_parameters(["layers.0", "layers.1"], "layer")
    [['layers.0.weight', 'layers.0.bias'], ['layers.1.weight', 'layers.1.bias']]
    """
    each = [[f"{layer}.weight", f"{layer}.bias"] for layer in layers]
    return each if scope == "layer" else [[name for names in each for name in names]]


def keep_magnitudes(
    values: Mapping[str, Tensor],
    groups: Sequence[Sequence[str]],
    removed: float,
    start: Mapping[str, Tensor] | None = None,
) -> Mask:
    """Keeps the entries of greatest |value| of each group, exactly len − int(removed·len) of them.

    An entry that `start` has pruned stays pruned. Of equal entries the one with the lower index is kept; the reference
    code keeps all that equal the threshold, so its counts are the same whenever no two magnitudes are.

    >>> table = {"w": torch.tensor([3.0, -1.0, 2.0]), "b": torch.tensor([1.0])}
    >>> {name: mask.tolist() for name, mask in keep_magnitudes(table, [["w", "b"]], 0.5).items()}
    {'w': [True, False, True], 'b': [False]}
    """
    masks: dict[str, Tensor] = {}
    for names in groups:
        flat = [values[name].detach().abs().flatten() for name in names]
        alive = [None if start is None else start[name].flatten().cpu() for name in names]
        size = sum(map(len, flat))
        kept = rank_scores(flat, size - int(removed * size), alive)
        masks |= {name: part.view(values[name].shape) for name, part in zip(names, kept, strict=True)}
    return Mask(masks)


def make_oneshot_masks(
    values: Mapping[str, Tensor], groups: Sequence[Sequence[str]], rounds: int, fraction: float
) -> list[Mask]:
    """The masks of rounds 0, …, `rounds` from the magnitudes of one trained dense net; they are nested."""
    return [keep_magnitudes(values, groups, compute_removed(n, fraction)) for n in range(rounds + 1)]


def draw_random_masks(
    shapes: Mapping[str, Sequence[int]],
    groups: Sequence[Sequence[str]],
    rounds: int,
    fraction: float,
    *,
    generator: torch.Generator,
) -> list[Mask]:
    """Nested random masks with the counts of iterative pruning: one-shot masks of a random permutation per group."""
    masks: list[dict[str, Tensor]] = [{} for _ in range(rounds + 1)]
    for names in groups:
        sizes = [torch.Size(shapes[name]).numel() for name in names]
        order = torch.randperm(sum(sizes), generator=generator).split(sizes)
        for n, mask in enumerate(masks):
            lost = int(compute_removed(n, fraction) * sum(sizes))  # the ranks 0, …, lost − 1: nothing has to be sorted
            mask |= {name: (part >= lost).view(*shapes[name]) for name, part in zip(names, order, strict=True)}
    return [Mask(mask) for mask in masks]


def count_lifetimes(masks: Sequence[Mask]) -> dict[str, Tensor]:
    """Nested masks m(0), …, m(R) as one small integer per entry: the last round in which it is kept.

    >>> stack = [Mask({"w": torch.tensor(keep)}) for keep in ([True, True], [True, False], [True, False])]
    >>> count_lifetimes(stack)["w"].tolist()
    [2, 0]
    """
    return {name: torch.stack([mask[name] for mask in masks[1:]]).sum(0, dtype=torch.uint8) for name in masks[0]}


def select_round(lifetimes: Mapping[str, Tensor], after: int) -> Mask:
    """The mask m(after) of what `count_lifetimes` gives."""
    return Mask({name: item >= after for name, item in lifetimes.items()})
