"""Initial weights: Glorot's truncated normal, as in the single neurons of lufkin2024."""

import math

import torch
from torch import Tensor

CUT = 2.0  # in units of the untruncated standard deviation


def draw_glorot(units: int, inputs: int, outputs: int, *, scale: float, generator: torch.Generator) -> Tensor:
    """Weights of shape (units, inputs) with variance scale·2/(inputs + outputs), cut at two standard deviations.

    Truncation reduces the variance, so the weights are rescaled to the requested variance.

    >>> w = draw_glorot(1000, 40, 1, scale=1e-3, generator=torch.Generator().manual_seed(0))
    >>> w.shape, round(float(w.var() / (1e-3 * 2 / 41)), 1)
    (torch.Size([1000, 40]), 1.0)
    """
    inside = math.erf(CUT / math.sqrt(2))
    kept = 1 - 2 * CUT * math.exp(-(CUT**2) / 2) / math.sqrt(2 * math.pi) / inside
    uniform = torch.rand(units, inputs, dtype=torch.float64, generator=generator)
    normal = torch.special.ndtri(0.5 + (uniform - 0.5) * inside)
    return normal * math.sqrt(scale * 2 / (inputs + outputs) / kept)
