"""All masks of Algorithm 1 for given inputs, compared with the lemmas."""

from collections.abc import Iterator
from typing import Self

import torch
from pydantic import Field, model_validator
from torch import Tensor

from prunefield.runs import Record, Run, State
from prunefield.theory import sketch_lemmas as lemmas
from prunefield.theory.sketching import enumerate_error, expected_error, optimal_probabilities

_LARGEST = 2000  # sequences of draws that are enumerated for each case
_WORK = 400_000  # numbers handled between two safe points


class Outcomes(Run):
    """Draws X, w0 and w⋆ and checks Algorithm 1 and Lemmas 4.1, 4.3, B.1 and B.2 of bar2023 against all outcomes.

    The mask is made by Eq. 2 from w0 and X (or, with `fresh`, other inputs X̃) and applied to w⋆ = w0 + τ·N(0, I).
    Records hold one number per case in each tensor: the error by enumeration (where dˢ is small), by the identity and
    as the lemmas print it; the largest gaps of enumerated moments to what the lemmas say, relative to the largest of
    these; and the smallest error of alternative probabilities.
    """

    dimension: int = Field(default=4, ge=1, description="number of weights d")
    examples: int = Field(default=3, ge=1, description="number of examples n")
    kept: int = Field(default=2, ge=1, description="number of draws s of Algorithm 1")
    tau: float = Field(default=0.0, ge=0, description="how far training moves the weights: Δ ~ τ·N(0, I)")
    fresh: bool = Field(
        default=False, description="make the mask from inputs other than those on which the error is measured"
    )
    cases: int = Field(default=100, ge=1, description="number of cases (X, w0, w⋆) to draw")
    rivals: int = Field(
        default=50, ge=1, description="number of alternative probabilities to compare with Eq. 2 in each case"
    )
    start: tuple[float, ...] = Field(default=(), description="initial weights w0; empty: drawn from N(0, I)")
    end: tuple[float, ...] = Field(default=(), description="trained weights w⋆; empty: w0 + τ·N(0, I)")
    inputs: tuple[tuple[float, ...], ...] = Field(default=(), description="X by rows; empty: drawn from N(0, I)")
    seed: int = Field(default=0, ge=0, description="seed of the inputs, weights and alternative probabilities")

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name in ("start", "end", "inputs"):
            given = getattr(self, name)
            if given and len(given) != self.dimension:
                raise ValueError(f"{name} needs one entry per weight, {self.dimension}, not {len(given)}")
        if any(len(row) != self.examples for row in self.inputs):
            raise ValueError(f"each row of inputs needs {self.examples} examples")
        if self.start and not any(self.start):
            raise ValueError("start must have a non-zero weight")
        return self

    def __call__(self, state: State) -> Iterator[Record | None]:
        stream = state.generator(self.seed, "cases")
        at_once = max(1, _WORK // (self.dimension * (self._sequences() + self.rivals + self.examples)))
        while (first := state.values.setdefault("drawn", 0)) < self.cases:
            number = min(at_once, self.cases - first)
            tensors = self._compare(number, stream)
            state.values["drawn"] = first + number
            state.done = state.values["drawn"] / self.cases
            yield Record({"cases": number}, {name: tensor.double().clone() for name, tensor in tensors.items()})

    def _compare(self, number: int, stream: torch.Generator) -> dict[str, Tensor]:
        d, s = self.dimension, self.kept

        def draw(given: tuple, *shape: int) -> Tensor:
            drawn = torch.randn(number, *shape, dtype=torch.float64, generator=stream)
            return torch.tensor(given, dtype=torch.float64).expand_as(drawn) if given else drawn

        x, other = draw(self.inputs, d, self.examples), draw((), d, self.examples)
        w0, step = draw(self.start, d), draw((), d)
        w = draw(self.end, d) if self.end else w0 + self.tau * step
        p = optimal_probabilities(w0, other if self.fresh else x)
        exact = expected_error(x, w, p, s)
        found = {
            "exact": exact,
            "power": torch.matmul(w.unsqueeze(-2), x).square().sum((-1, -2)),
            "unsquared": lemmas.unsquared_error(x, w, s),
            "optimal": lemmas.optimal_error(x, w, s),
            "bound": lemmas.cross_bound(x, w, p, s),
            "rival": self._rival(x, w, p, stream),
            "mean_kept": lemmas.mean_kept(p, s),
        }
        if self._sequences():
            found |= {"enumerated": enumerate_error(x, w, p, s)} | self._moments(x, w, p)
        return found

    def _rival(self, x: Tensor, w: Tensor, p: Tensor, stream: torch.Generator) -> Tensor:
        """The least error of probabilities near p (p·exp(noise), in several strengths) and far from it."""
        noise = torch.randn(self.rivals, *p.shape, dtype=torch.float64, generator=stream)
        strengths = torch.logspace(-2, 0.5, self.rivals, dtype=torch.float64)[:, None, None]
        rivals = (p.log() + strengths * noise).softmax(-1)
        rivals[-1] = 1 / self.dimension
        return expected_error(x, w, rivals, self.kept).amin(0)

    def _moments(self, x: Tensor, w: Tensor, p: Tensor) -> dict[str, Tensor]:
        found, s = lemmas.enumerate_moments(x, w, p, self.kept), self.kept
        _, variance = lemmas.feature_moments(x, w, p, s)
        features = torch.matmul(w.unsqueeze(-2), x).squeeze(-2)  # also of weights that the mask never keeps
        binary = torch.matmul((w * found["kept"]).unsqueeze(-2), x).squeeze(-2)
        loose = variance + features.square() / s  # also the scale of rounding: the variance may be a small difference
        covariance = lemmas.mask_covariance(torch.where(p > 0, p, 1), s).flatten(1)
        lost = found["mask"] - (p > 0).double()
        return {
            "mask_gap": lost.abs().amax(-1),
            "binary_gap": (found["kept"] - 1).abs().amax(-1),
            "most": found["most"],
            "drawn_kept": found["kept"].sum(-1),
            "mean_gap": _gap(found["mean"], features),
            "binary_mean_gap": _gap(binary, features),
            "variance_gap": _gap(found["variance"], variance, loose),
            "loose_gap": _gap(found["variance"], loose, loose),
            "covariance_gap": torch.where((p > 0).all(-1), _gap(found["covariance"].flatten(1), covariance), 0),
        }

    def _sequences(self) -> int:
        """How many sequences of draws are enumerated for each case: all or none."""
        number = self.dimension**self.kept
        return number if number <= _LARGEST else 0


def _gap(found: Tensor, said: Tensor, scale: Tensor | None = None) -> Tensor:
    """The largest difference in each row, relative to the row's largest entry of `scale`, or of `said`."""
    size = (said if scale is None else scale).abs().amax(-1)
    return (found - said).abs().amax(-1) / size.clamp(min=1e-300)
