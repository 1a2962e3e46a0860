"""The sinusoid closest to a field on a ring, and its distance (lufkin2024, §4.3 and Fig. 4)."""

import math
from typing import NamedTuple

import torch
from torch import Tensor


class Sinusoid(NamedTuple):
    """c + a cos(2πki/N) + b sin(2πki/N) and its distance to the field as a share of the field's ℓ2 norm; each (…,)."""

    frequency: Tensor
    cosine: Tensor
    sine: Tensor
    error: Tensor
    intercept: Tensor

    def curve(self, size: int) -> Tensor:
        """The sinusoid on a ring of `size` sites, shape (…, size)."""
        site = torch.arange(size, dtype=self.cosine.dtype)
        phase = 2 * math.pi / size * (self.frequency[..., None] * site)
        return self.intercept[..., None] + self.cosine[..., None] * phase.cos() + self.sine[..., None] * phase.sin()


def fit_sinusoid(weights: Tensor, frequency: int | None = None, *, intercept: bool = False) -> Sinusoid:
    """The least-squares sinusoid of one integer frequency for each field of `weights`, shape (…, N).

    Without `frequency` the best of 0, 1, …, N/2 is taken; 0 is a constant, so b = 0 there. With `intercept`, c is also
    fitted and the frequency is at least 1; otherwise c = 0. The fit is the projection onto one Fourier mode, or two;
    for a field that is zero everywhere the error is NaN.

    >>> site = torch.arange(40, dtype=torch.float64)
    >>> field = 3 * torch.sin(2 * math.pi * 5 * site / 40) + 1e-3
    >>> found = fit_sinusoid(field)
    >>> found.frequency.item(), round(found.sine.item(), 6), round(found.error.item(), 6)
    (5, 3.0, 0.000471)
    >>> fit_sinusoid(field, intercept=True).error.item() < 1e-12
    True
    """
    fields = weights.to(torch.float64)
    size = fields.shape[-1]
    modes = torch.fft.rfft(fields) / size
    modes[..., 1 : (size + 1) // 2] *= 2  # each mode except the constant and the alternating one stands for ±k
    constant = modes[..., 0].real.clone() if intercept else torch.zeros_like(modes[..., 0].real)
    if intercept:
        modes[..., 0] = 0
    share = modes.abs().square()
    share[..., 1 : (size + 1) // 2] /= 2
    first = int(intercept)
    best = share[..., first:].argmax(-1) + first if frequency is None else torch.full(fields.shape[:-1], frequency)
    mode = modes.gather(-1, best[..., None])[..., 0]
    rough = Sinusoid(best, mode.real, -mode.imag, mode.real, constant)
    error = (fields - rough.curve(size)).norm(dim=-1) / fields.norm(dim=-1)
    return rough._replace(error=error)
