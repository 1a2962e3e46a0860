"""Kurtosis: how far a distribution is from a Gaussian, for which it is 3."""

import torch
from torch import Tensor

from prunefield.core.errors import UsageError


def kurtosis(values: Tensor) -> Tensor:
    """m4/m2² of every column, with population moments (redman2025, eq. 4, with the E missing in its denominator).

    Values (n, units) give (units,) in float64; a column without variance gives NaN.

    >>> kurtosis(torch.tensor([[-1.0, 5.0], [1.0, 5.0], [-1.0, 5.0], [1.0, 5.0]])).tolist()
    [1.0, nan]
    """
    values = values.to(torch.float64)
    centred = values - values.mean(0)
    square = centred.square()
    second, fourth = square.mean(0), square.square().mean(0)
    rounding = (1e-12 * values.abs().amax(0)).square()  # rounding error of the mean of equal numbers
    return torch.where(second > rounding, fourth / second.square(), torch.nan)


def kurtosis_per_class(values: Tensor, y: Tensor, classes: int) -> Tensor:
    """The kurtosis within each class: values (n, units) and labels (n,) give (classes, units)."""
    return torch.stack([kurtosis(values[y == label]) for label in range(classes)])


def gaussian_kurtosis(n: int) -> float:
    """3(n − 1)/(n + 1), the mean kurtosis of n independent Gaussian numbers: the reference for a sample.

    >>> round(gaussian_kurtosis(50), 3)
    2.882
    """
    return 3 * (n - 1) / (n + 1)


def correct_kurtosis(kurtosis: Tensor, n: int) -> Tensor:
    """3 + k₄/k₂² from m4/m2² of n numbers: with k-statistics a Gaussian has 3 on average, for any n.

    k₄/k₂² = (n − 1)/((n − 2)(n − 3))·((n + 1)(m4/m2² − 3) + 6); n must be at least 4.

    >>> round(correct_kurtosis(torch.tensor(gaussian_kurtosis(50)), 50).item(), 5)
    3.0
    """
    if n < 4:
        raise UsageError(f"an unbiased kurtosis needs at least 4 images, not {n}; use more images of each class")
    return 3 + (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * (kurtosis - 3) + 6)
