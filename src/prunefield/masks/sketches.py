"""Real-valued masks of a network: Algorithm 1 of bar2023 over all of its weights at once."""

from collections.abc import Mapping

import torch
from torch import Tensor

from prunefield.core.errors import UsageError
from prunefield.masks.selection import Density, Reduction, check_scores, compute_probabilities, count_kept
from prunefield.theory.sketching import draw_mask


def draw_sketch(
    scores: Mapping[str, Tensor],
    density: Density,
    *,
    generator: torch.Generator,
    reduce: Reduction | None = None,
    alpha: float = 0.0,
) -> dict[str, Tensor]:
    """s draws with replacement of a weight k with a probability p_k ∝ its score; each adds 1/(s·p_k) to m_k (Algorithm
    1).

    s is the number of weights that the density keeps; m has at most as many entries that are not zero, and E m = 1
    wherever p > 0, so that features of masked weights are unbiased. `reduce` and `alpha` are those of `Mask.sample`.
    Entries with small probabilities are large: this mask is for estimates, not for training.

    >>> found = draw_sketch({"weight": torch.tensor([1.0, 3.0])}, 0.5, generator=torch.Generator().manual_seed(0))
    >>> found["weight"].tolist() in ([4.0, 0.0], [0.0, 4 / 3])
    True
    """
    flat = check_scores(scores)
    p = compute_probabilities(torch.cat(list(flat.values())), "all layers", reduce, alpha).double()
    if not p.sum() > 0:
        raise UsageError("no score gives a positive probability: choose another `reduce`, or an alpha above 0")
    mask = draw_mask(p / p.sum(), count_kept(len(p), density), generator=generator)
    parts = mask.split([len(values) for values in flat.values()])
    return {name: part.reshape(scores[name].shape) for name, part in zip(flat, parts, strict=True)}
