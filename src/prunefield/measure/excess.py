"""The excess kurtosis of a sample with a confidence interval, which decides whether a neuron localises (lufkin2024)."""

import math
from typing import NamedTuple

import torch
from torch import Tensor


class Excess(NamedTuple):
    """κ − 3 with its interval; `share` is how much of all rows' influence, squared, the one strongest row has."""

    value: float
    low: float
    high: float
    error: float
    share: float

    @property
    def doubtful(self) -> bool:
        """Whether one row carries more than a quarter: then the eighth moment, and with it the interval, may not exist.

        In a sample of any size that a law without an eighth moment gives, single values dominate; in one of a Gaussian
        the strongest of 1,000 has about a tenth.
        """
        return self.share > 0.25


def estimate_excess(values: Tensor, *, confidence: float = 0.95) -> Excess:
    """κ − 3 = m₄/m₂² − 3 of all `values`, whose rows are independent while the values within one need not be.

    Shape (n, …): examples and their sites. The interval is that of a normal law whose variance is the mean square of
    the rows' influence (u⁴ − m₄ − 4m₃u)/m₂² − 2m₄(u² − m₂)/m₂³, u = x − m₁, averaged over a row, divided by n.

    >>> seen = estimate_excess(torch.rand(20_000, 4, generator=torch.Generator().manual_seed(0)))
    >>> seen.low < -1.2 < seen.high, round(seen.value, 1), seen.doubtful
    (True, -1.2, False)
    """
    rows = values.to(torch.float64).reshape(len(values), -1)
    centred = rows - rows.mean()
    second, third, fourth = (centred.pow(power).mean() for power in (2, 3, 4))
    kurtosis = fourth / second.square()
    influence = (centred.pow(4) - fourth - 4 * third * centred) / second.square()
    influence = (influence - 2 * kurtosis * (centred.square() - second) / second).mean(1)
    power = influence.square()
    error = math.sqrt(float(power.mean()) / len(rows))
    reach = error * float(torch.special.ndtri(torch.tensor((1 + confidence) / 2, dtype=torch.float64)))
    value, whole = float(kurtosis) - 3, float(power.sum())
    return Excess(value, value - reach, value + reach, error, float(power.max()) / whole if whole > 0 else 0.0)
