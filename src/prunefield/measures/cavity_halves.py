"""Cavity scores without their small-sample bias: sign and change come from different halves of a class's images."""

import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from prunefield.measures.kurtosis import gaussian_kurtosis


class Halves:
    """Sums over the halves A and B of classes, for scores whose sign and change do not come from the same images.

    In eq. 5 with n images sign and change depend on each other: to subtract W_ij x_j is to scale λ and to add noise,
    which moves any chance deviation of the kurtosis κ̂ from 3 back towards 3, so that the product is negative. For
    Gaussian λ, x and a weight's share a² = W_ij² var x_j/var λ_i, ρ = corr(λ_i, x_j), to second order,

        E score = −2a²(1 − ρ²)·E|κ̂ − 3|/κ̂ ≈ −2.6 a²(1 − ρ²)/√n, where the score for n → ∞ is 0.

    It grows with the square of the weight, so no baseline per unit removes it. Here instead

        corrected = mean over classes of ½[s_B(κ_A^(−j) − κ_A)/κ_B + s_A(κ_B^(−j) − κ_B)/κ_A],

    with s = sign(κ − `find_line`(m)) for a half of m images. The halves are independent, and for every elliptical law
    κ^(−j) and κ have the same law: the mean is exactly zero at any n, as it is for n → ∞. For other laws a sign that is
    wrong by chance shrinks the mean score; near a Gaussian the line is such that it does not turn it.
    `corrected_mean` averages κ and κ^(−j) over classes first. Where a half has no variance, the class is left out.
    """

    parts = 2
    places = (((0, 1, 3), (0, 2)), ((0, 2, 3), (1, 2)))

    def __init__(self, units: int, inputs: int) -> None:
        none = np.zeros((0, 0))
        self.all = [*(np.zeros((units, inputs)) for _ in range(3)), none]  # scores, changes in A, changes in B
        self.lost = [np.zeros((units, inputs)), np.zeros((units, inputs)), none]
        self.noted = []  # κ and what is due to n numbers, by class, half and unit
        self.there = []  # classes with variance

    def take(self, group: Any) -> None:
        """Notes the kurtosis of the halves, (2 · classes, units), and gives each half the other's sign and κ."""
        sizes = np.diff(group.bounds).tolist()
        mean, line = (
            torch.tensor([find(size) for size in sizes], dtype=torch.float64)[:, None]
            for find in (gaussian_kurtosis, find_line)
        )
        flat = swap_halves(group.inverse == 0) | (group.inverse == 0)
        group.inverse.masked_fill_(flat, 0)
        sign = swap_halves(torch.where(group.kurtosis > line, 1.0, -1.0).double())
        group.factor = torch.where(flat, 0, sign * group.kurtosis / swap_halves(group.kurtosis))
        noted = torch.stack([group.kurtosis, mean.expand_as(flat), line.expand_as(flat)], 2)
        self.noted.append(torch.where(flat[..., None], 0, noted).unflatten(0, (-1, 2)))
        self.there.append(~flat[::2])

    def scores(self, kept: Tensor) -> dict[str, Tensor]:
        classes = torch.cat(self.there).double().sum(0)[:, None]
        kurtosis, mean, line = torch.cat(self.noted).sum(0).unbind(2)  # (2, units) each, sums over classes
        line = mean - (mean - line) / classes.T  # the skewness of a mean, and what is due to it, is that much smaller
        score, *changes = map(torch.from_numpy, self.all[:3])
        counts = [classes - torch.from_numpy(lost) for lost in self.lost[:2]]
        score = score / (counts[0] + counts[1])
        of_mean = torch.zeros_like(score)
        for here, other in ((0, 1), (1, 0)):
            factor = torch.where(kurtosis[other] > line[other], 0.5, -0.5) / kurtosis[other]
            of_mean += changes[here] / counts[here] * (factor[:, None] * classes)
        missing = ~kept | (counts[0] + counts[1] <= 0)
        return {
            "corrected": score.masked_fill_(missing, torch.nan),
            "corrected_mean": of_mean.masked_fill_(~kept | (torch.minimum(*counts) <= 0), torch.nan),
        }


def find_line(n: int) -> float:
    """The kurtosis κ of n numbers above which the law is taken to have more than 3.

    For Gaussian numbers the mean of sign(κ − line)/κ is zero, but for at most 0.1 of the mean of 1/κ. κ has the mean
    3(n − 1)/(n + 1) and the variance and skewness below; its median is that of Anscombe and Glynn's transformation of κ
    to a normal number, and the weight 1/κ moves it by a factor of about 1 + variance/mean².

    >>> [round(find_line(n), 2) for n in (25, 1_000, 1_000_000)]
    [2.45, 2.97, 3.0]
    """
    mean = gaussian_kurtosis(n)
    variance = 24 * n * (n - 2) * (n - 3) / ((n + 1) ** 2 * (n + 3) * (n + 5))
    skewness = (
        6 * (n * n - 5 * n + 2) / ((n + 7) * (n + 9)) * math.sqrt(6 * (n + 3) * (n + 5) / (n * (n - 2) * (n - 3)))
    )
    if skewness <= 0:  # n = 4
        return mean
    a = 6 + 8 / skewness * (2 / skewness + math.sqrt(1 + 4 / skewness**2))
    median = mean + math.sqrt(variance * (a - 4) / 2) * ((1 - 2 / a) / (1 - 2 / (9 * a)) ** 3 - 1)
    return median / (1 + variance / mean**2)


def swap_halves(values: Tensor) -> Tensor:
    """The rows A, B, A, B, … in the order B, A, B, A, …"""
    return values.unflatten(0, (-1, 2)).flip(1).flatten(0, 1)
