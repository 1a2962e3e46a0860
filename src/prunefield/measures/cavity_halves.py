"""Cavity scores without their small-sample bias: the sign from one half of the images of a class, the change from the
other.
"""

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

    with s = sign(κ − 3(m − 1)/(m + 1)), the mean kurtosis of m Gaussian numbers. The halves are independent, and for
    every elliptical law κ^(−j) and κ have the same law: the mean is exactly zero at any n, as it is for n → ∞. For other
    laws the sign is sometimes wrong, which shrinks a score but does not turn it. `corrected_mean` averages κ and
    κ^(−j) over classes first. Where a half has no variance, the class is left out.
    """

    parts = 2
    places = (((0, 1, 3), (0, 2)), ((0, 2, 3), (1, 2)))

    def __init__(self, units: int, inputs: int) -> None:
        none = np.zeros((0, 0))
        self.all = [*(np.zeros((units, inputs)) for _ in range(3)), none]  # scores, changes in A, changes in B
        self.lost = [np.zeros((units, inputs)), np.zeros((units, inputs)), none]
        self.kurtosis, self.flat, self.gaussian = [], [], []

    def take(self, group: Any) -> None:
        """Notes the kurtosis of the halves, (2 · classes, units), and gives each half the other's sign and κ."""
        sizes = np.diff(group.bounds).tolist()
        gaussian = torch.tensor([gaussian_kurtosis(size) for size in sizes], dtype=torch.float64)[:, None]
        flat = swap_halves(group.inverse == 0) | (group.inverse == 0)
        group.inverse.masked_fill_(flat, 0)
        other = swap_halves(group.kurtosis)
        sign = swap_halves(torch.where(group.kurtosis > gaussian, 1.0, -1.0).double())
        group.factor = torch.where(flat, 0, sign * group.kurtosis / other)
        self.kurtosis.append(group.kurtosis)
        self.flat.append(flat)
        self.gaussian.append(gaussian.expand_as(flat))

    def scores(self, kept: Tensor) -> dict[str, Tensor]:
        there = ~torch.cat(self.flat)
        kurtosis, gaussian = (
            torch.where(there, torch.cat(part), 0).unflatten(0, (-1, 2)).sum(0) for part in (self.kurtosis, self.gaussian)
        )
        classes = there[::2].double().sum(0)[:, None]
        score, *changes = map(torch.from_numpy, self.all[:3])
        counts = [classes - torch.from_numpy(lost) for lost in self.lost[:2]]
        score = score / sum(counts)
        of_mean = torch.zeros_like(score)
        for here, (change, count) in enumerate(zip(changes, counts, strict=True)):
            other = 1 - here
            sign = torch.where(kurtosis[other] > gaussian[other], 0.5, -0.5)
            of_mean += change / count * (sign / kurtosis[other])[:, None] * classes
        missing = ~kept | (counts[0] + counts[1] <= 0)
        return {
            "corrected": score.masked_fill_(missing, torch.nan),
            "corrected_mean": of_mean.masked_fill_(~kept | (torch.minimum(*counts) <= 0), torch.nan),
        }


def swap_halves(values: Tensor) -> Tensor:
    """The rows A, B, A, B, … in the order B, A, B, A, …"""
    return values.unflatten(0, (-1, 2)).flip(1).flatten(0, 1)
