"""The distance of two trajectories of fields (lufkin2024, Fig. 8)."""

import math

from torch import Tensor


def measure_distance(first: Tensor, second: Tensor) -> Tensor:
    """The ℓ2 distance of fields of shape (…, N) over sites; for trajectories (times, …, N), at each time.

    >>> import torch
    >>> measure_distance(torch.tensor([3.0, 0.0, 1.0, 1.0]), torch.tensor([0.0, 4.0, 1.0, 1.0])).item()
    5.0
    """
    return (first - second).norm(dim=-1)


def measure_distance_per_site(first: Tensor, second: Tensor) -> Tensor:
    """The root mean square difference, which is the ℓ2 distance divided by √N.

    >>> import torch
    >>> measure_distance_per_site(torch.tensor([3.0, 0.0, 1.0, 1.0]), torch.tensor([0.0, 4.0, 1.0, 1.0])).item()
    2.5
    """
    return measure_distance(first, second) / math.sqrt(first.shape[-1])
