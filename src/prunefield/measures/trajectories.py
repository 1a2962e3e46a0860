"""The distance of two trajectories of fields, and when a field localises (lufkin2024, Fig. 8)."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from prunefield.measures.localisation import compute_ipr


def measure_distance(first: Tensor, second: Tensor) -> Tensor:
    """The ℓ2 distance of fields of shape (…, N) over sites; for trajectories (times, …, N), at each time.

    >>> measure_distance(torch.tensor([3.0, 0.0, 1.0, 1.0]), torch.tensor([0.0, 4.0, 1.0, 1.0])).item()
    5.0
    """
    return (first - second).norm(dim=-1)


def measure_distance_per_site(first: Tensor, second: Tensor) -> Tensor:
    """The root mean square difference, which is the ℓ2 distance divided by √N.

    >>> measure_distance_per_site(torch.tensor([3.0, 0.0, 1.0, 1.0]), torch.tensor([0.0, 4.0, 1.0, 1.0])).item()
    2.5
    """
    return measure_distance(first, second) / math.sqrt(first.shape[-1])


def find_localisation_time(times: Sequence[float], weights: Tensor, level: float) -> Tensor:
    """The first of `times` from which the IPR of `weights`, shape (times, …, N), stays at `level` or above.

    Infinite for fields that end below it. Noise can have a high IPR too: an early field above the level does not count
    unless it stays there.

    >>> path = torch.tensor([[1.0, 1.0], [1.0, 0.5], [1.0, 0.0]])
    >>> find_localisation_time([0.0, 5.0, 9.0], path, level=0.6).item()
    5.0
    """
    local = compute_ipr(weights) >= level
    stays = local.flip(0).cummin(0).values.flip(0)
    count = stays.sum(0)
    late = torch.tensor([*times, math.inf], dtype=torch.float64)
    return late[len(times) - count]
