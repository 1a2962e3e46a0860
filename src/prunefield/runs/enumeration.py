"""The error of Theorem 4.4 from its definition."""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import torch
from pydantic import Field, model_validator
from torch import Tensor

from prunefield.core.errors import UsageError
from prunefield.runs import Record, Run, State
from prunefield.theory.sketch_bounds import gaussian_error, minimum_bound, printed_bound, sum_bound
from prunefield.theory.sketching import enumerate_error, optimal_probabilities

_WORK = 200_000  # numbers handled between two safe points
_LARGEST = 10**9  # numbers in the whole sum, some minutes


class Enumeration(Run):
    """E_X E_m‖Xᵀw⋆ − Xᵀ(w⋆⊙m)‖² of bar2023, Theorem 4.4 for a few weights, without any formula of the theorem.

    The inner mean is the sum over all dˢ sequences of draws of Algorithm 1. The outer mean is taken twice. Exactly: a
    row of Gaussian X is a length times an independent direction, Eq. 2 sees only the lengths and the error is quadratic
    in the directions, so directions ±1 (all 2ᵈ of them) stand for the sphere and a quadrature over the lengths does the
    rest. And by sampling: over `draws` Gaussian matrices, with a standard error. The record also has the closed form,
    the sum that the proof in Appendix B.4 calls equal to it, the bounds, and the same enumeration for uniform masks.
    """

    start: tuple[float, ...] = Field(description="initial weights w0, from which the mask is made")
    end: tuple[float, ...] = Field(description="trained weights w⋆, to which it is applied")
    examples: int = Field(default=1, ge=1, description="number of examples n")
    kept: int = Field(default=1, ge=1, description="number of draws s of Algorithm 1")
    nodes: int = Field(default=32, ge=4, le=200, description="quadrature nodes for each length")
    draws: int = Field(default=20_000, ge=2, description="number of Gaussian matrices X to draw")
    seed: int = Field(default=0, ge=0, description="seed of the matrices")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(self.start) != len(self.end) or len(self.start) < 2:
            raise ValueError(
                f"start and end must have the same length, at least 2 (got {len(self.start)} and {len(self.end)})"
            )
        if not any(self.start):
            raise ValueError("start must have a non-zero weight")
        if self._numbers() > _LARGEST:
            raise ValueError(f"the sum has {self._numbers():.0e} terms; at most {_LARGEST:.0e} can be enumerated")
        return self

    def __call__(self, state: State) -> Iterator[Record | None]:
        w0, w = (torch.tensor(weights, dtype=torch.float64) for weights in (self.start, self.end))
        d, values = len(w0), state.values
        # columns: p0, uniform; rows: quadrature, then the sums of the sampled errors and of their squares
        sums = state.tensor("sums", lambda: torch.zeros(3, 2, dtype=torch.float64))
        stream = state.generator(self.seed, "inputs")
        lengths, chances = _length_nodes(self.examples, self.nodes)
        signs = torch.cartesian_prod(*[torch.tensor([-1.0, 1.0], dtype=torch.float64)] * d)
        at_once = max(1, _WORK // (d * 2**d * d**self.kept))
        while (first := values.setdefault("nodes", 0)) < self.nodes**d:
            index = torch.arange(first, min(first + at_once, self.nodes**d))
            digits = torch.stack([index // self.nodes**k % self.nodes for k in range(d)], dim=-1)
            # One "example" per choice of signs: a single matrix holds all directions, and the factor 2^(−d/2) makes
            # its error their mean and leaves the lengths of its rows as they are.
            x = lengths[digits].unsqueeze(-1) * signs.T / 2 ** (d / 2)
            sums[0] += (chances[digits].prod(-1, keepdim=True) * _both(x, w0, w, self.kept)).sum(0)
            values["nodes"] = first + len(index)
            state.done = 0.5 * values["nodes"] / self.nodes**d
            yield None
        at_once = max(1, _WORK // (d * self.examples * d**self.kept))
        while (first := values.setdefault("drawn", 0)) < self.draws:
            number = min(at_once, self.draws - first)
            x = torch.randn(number, d, self.examples, dtype=torch.float64, generator=stream) / self.examples**0.5
            errors = _both(x, w0, w, self.kept)
            sums[1:] += torch.stack([errors.sum(0), errors.square().sum(0)])
            values["drawn"] = first + number
            state.done = 0.5 + 0.5 * values["drawn"] / self.draws
            yield None
        if not values.get("recorded"):
            values["recorded"] = True
            yield Record(self._summary(w0, w, sums))

    def _summary(self, w0: Tensor, w: Tensor, sums: Tensor) -> dict[str, Any]:
        mean, square = sums[1:] / self.draws
        exact = gaussian_error(w0, w, self.kept, self.examples).item()
        spread = ((square - mean.square()).clamp(min=0) / (self.draws - 1)).sqrt()
        return {
            "enumerated": sums[0, 0].item(),
            "enumerated_uniform": sums[0, 1].item(),
            "sampled": mean[0].item(),
            "sampled_spread": spread[0].item(),
            "exact": exact,
            "proof": exact + w.square().sum().item() / self.kept,
            "printed": printed_bound(w0, w, self.kept).item(),
            "sum": sum_bound(w0, w, self.kept, self.examples).item(),
            "minimum": minimum_bound(w0, w, self.kept).item() if all(self.start) else None,
        }

    def _numbers(self) -> float:
        d = len(self.start)
        return float(d) ** (self.kept + 1) * (float(self.nodes) ** d * 2**d + self.draws * self.examples)


def _both(x: Tensor, w0: Tensor, w: Tensor, s: int) -> Tensor:
    """The enumerated error of each matrix for masks drawn with p0 and with equal probabilities, of shape (…, 2)."""
    even = torch.full_like(w, 1 / len(w))
    return torch.stack([enumerate_error(x, w, optimal_probabilities(w0, x), s), enumerate_error(x, w, even, s)], dim=-1)


def _length_nodes(n: int, nodes: int) -> tuple[Tensor, Tensor]:
    """Gauss–Legendre nodes and weights for the length of a row of X, with density ∝ r^(n−1)·exp(−n·r²/2)."""
    # Nine standard deviations of χ_n, each about 1/√2, hold all but 1e-18 of the mass.
    low, high = max(0.0, n**0.5 - 6.4), n**0.5 + 6.4
    places, weights = np.polynomial.legendre.leggauss(nodes)
    lengths = low + (places + 1) * (high - low) / 2
    logarithm = (n - 1) * np.log(lengths) - lengths**2 / 2
    chances = weights * np.exp(logarithm - logarithm.max())
    chances, lengths = chances / chances.sum(), lengths / n**0.5
    if abs((chances * lengths**2).sum() - 1) > 1e-9:
        raise UsageError(f"{nodes} quadrature nodes are too few for {n} examples; raise `nodes`")
    return torch.from_numpy(lengths), torch.from_numpy(chances)
