"""The excess kurtosis of a sample with a confidence interval, which decides whether a neuron localises (lufkin2024)."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

ALARM = 2.33  # standard errors: one false alarm in 100 samples with an exponential tail, fewer with a lighter one
UPPER = 4  # the largest 1/UPPER of the examples are the tail


class Excess(NamedTuple):
    """κ − 3 with its interval; `tail` is the estimated tail shape: 1/α if P(|x| > u) falls as u^−α, else ≤ 0.

    `tail_error` is its standard error for an exponential tail.
    """

    value: float
    low: float
    high: float
    error: float
    tail: float
    tail_error: float

    @property
    def doubtful(self) -> bool:
        """Whether the tail is a power |x|^−α with α < 8: the interval needs an eighth moment, so it is then
        meaningless.

        The test is whether the tail is heavier than exponential; more than 98% of Gaussian samples are not doubtful.
        """
        return self.tail > max(1 / 8, ALARM * self.tail_error)

    def describe(self) -> str:
        """The value in a sentence."""
        digits = count_digits(self.high - self.low)
        value, low, high = (f"{number:.{digits}f}" for number in (self.value, self.low, self.high))
        text = f"excess kurtosis of an input: {value}, 95% interval {low} to {high}"
        if not self.doubtful:
            return text
        power = 1 / self.tail
        fate = "the kurtosis may not exist" if power <= 4 else "the interval is too narrow"
        return f"{text}; tails fall as a power of about {power:.1f}, so {fate}"


def count_digits(width: float, least: int = 3, most: int = 9) -> int:
    """The digits after the point with which the ends of an interval of this width can be told apart.

    >>> count_digits(0.07), count_digits(2.4e-4), count_digits(0.0)
    (3, 5, 3)
    """
    return min(most, max(least, 1 - math.floor(math.log10(width)))) if width > 0 else least


def estimate_excess(values: Tensor, *, confidence: float = 0.95) -> Excess:
    """κ − 3 = m₄/m₂² − 3 of all `values`; rows are independent, values within a row need not be.

    Shape (n, …): examples and their sites. The interval is that of a normal distribution. Its variance is the mean
    square, divided by n, of the influence (u⁴ − m₄ − 4m₃u)/m₂² − 2m₄(u² − m₂)/m₂³, u = x − m₁, averaged over a row.

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
    error = math.sqrt(float(influence.square().mean()) / len(rows))
    reach = error * float(torch.special.ndtri(torch.tensor((1 + confidence) / 2, dtype=torch.float64)))
    value = float(kurtosis) - 3
    return Excess(value, value - reach, value + reach, error, *shape_tail(centred.abs().amax(1)))


def shape_tail(maxima: Tensor) -> tuple[float, float]:
    """The shape γ of a generalised Pareto law for the highest quarter of values (n,), and its error for γ = 0.

    By probability-weighted moments: γ = 2 − b₀/(b₀ − 2b₁), b₀ the mean excess and b₁ that weighted with 1 − p; the
    error is √(4/3k). The maxima of independent examples are independent, even if the sites of an example are not.

    >>> even = (torch.arange(4000, dtype=torch.float64) + 0.5) / 4000
    >>> abs(shape_tail(-even.log())[0]) < 0.01, round(shape_tail(even**-0.25)[0], 2)
    (True, 0.25)
    """
    count = max(2, len(maxima) // UPPER)
    ordered = maxima.sort().values[-count - 1 :]
    excess = ordered[1:] - ordered[0]
    first = float(excess.mean())
    weights = 1 - (torch.arange(count, dtype=torch.float64) + 0.65) / count
    second = float((weights * excess).mean())
    shape = 2 - first / (first - 2 * second) if first - 2 * second > 1e-12 * max(first, 1e-300) else -1.0
    return shape, math.sqrt(4 / 3 / count)
