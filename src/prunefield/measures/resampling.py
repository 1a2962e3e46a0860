"""The flow of lufkin2024 (Eq. 5) on a sample of n examples and on resamples: n of them, drawn with replacement."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from prunefield.measures.covariances import (
    amplify_resamples,
    correlate_lags,
    count_values,
    estimate_kernels,
    shrink_covariance,
)
from prunefield.theory.amplifier import SLOPE
from prunefield.theory.relaxation import Dense, Torus, relax_fields

AT_ONCE, MATRICES = 100_000, 2_000_000  # size of fields and of matrices that are integrated side by side


@dataclass(frozen=True)
class ResampledFields:
    """Fields at the end of the flow, the first from the whole sample, the others from resamples.

    `fields` (1 + resamples, inits, N) are those of the data's φ, `straight` those of φ(a) = √(2/π)·a, the amplifier of
    Gaussian data with the same covariances. For the whole sample there are also: `pull` (inits, N), Σ₁w/√(wᵀΣ₁w) at the
    end; `force` (inits, N), what φ adds to √(2/π) times that; `rows` (2, N), the covariances of the middle site in
    classes 0 and 1; `curve` (2, k), φ on a grid.
    """

    fields: Tensor
    straight: Tensor
    pull: Tensor
    force: Tensor
    rows: Tensor
    curve: Tensor


def draw_weights(groups: int, resamples: int, generator: torch.Generator) -> Tensor:
    """How often each group occurs in the whole sample (row 0: once) and in each resample, (1 + resamples, groups).

    >>> draw_weights(5, 3, torch.Generator().manual_seed(0)).sum(1).tolist()
    [5.0, 5.0, 5.0, 5.0]
    """
    drawn = torch.randint(groups, (resamples, groups), generator=generator)
    counts = torch.zeros(resamples, groups, dtype=torch.float64).scatter_add_(1, drawn, torch.ones_like(drawn).double())
    return torch.cat([torch.ones(1, groups, dtype=torch.float64), counts])


def flow_on_torus(
    short: Tensor | None, long: Tensor, start: Tensor, time: float, resamples: int, generator: torch.Generator
) -> ResampledFields:
    """The flow for translation-invariant examples (n, *grid): covariances and their products by FFT."""
    grid, inits = long.shape[1:], len(start)
    law, second = count_values(long), correlate_lags(long)
    first = None if short is None else correlate_lags(short)
    high = draw_weights(len(second.counts), resamples, generator)
    low = high if first is None else draw_weights(len(first.counts), resamples, generator)
    kernels = estimate_kernels(first, second, (low, high))
    ends: list[Tensor] = []
    step = max(1, AT_ONCE // (2 * inits * grid.numel()))
    for part in torch.arange(resamples + 1).split(step):
        modes = Torus(kernels[0][part], kernels[1][part], len(grid))
        both = start.view(1, inits, *grid).repeat(len(part), 2, *(1,) * len(grid))
        ends.append(relax_fields(both, [time], modes, _bend_first(amplify_resamples(law, high[part]), inits))[-1])
    modes = Torus(kernels[0][:1], kernels[1][:1], len(grid))
    middle = [size // 2 for size in grid]
    rows = torch.stack([kernel[0].roll(middle, tuple(range(len(grid)))).flatten() for kernel in kernels])
    return _gather_fields(torch.cat(ends).flatten(2), modes, amplify_resamples(law, high[:1]), rows, inits, grid)


def flow_on_sites(
    short: Tensor | None, long: Tensor, start: Tensor, time: float, resamples: int, generator: torch.Generator
) -> ResampledFields:
    """The flow for any examples (n, N): shrunk covariances of all sites, and φ from their rescaled values."""
    inits, sizes = len(start), long.square().mean(0).sqrt().clamp(min=1e-12)
    law = count_values(long / sizes)
    high = draw_weights(len(law.counts), resamples, generator)
    low = high if short is None else draw_weights(min(len(short), len(law.counts)), resamples, generator)
    ends, first = [], None
    for part in torch.arange(resamples + 1).split(max(1, MATRICES // long.shape[1] ** 2)):
        second = torch.stack([shrink_covariance(long, _spread_weights(high[index], len(long))) for index in part])
        if short is None:
            other = second.diagonal(dim1=1, dim2=2).diag_embed()
        else:
            other = torch.stack([shrink_covariance(short, _spread_weights(low[index], len(short))) for index in part])
        first = first or (other[:1], second[:1])
        both = start.repeat(len(part), 2, 1)
        phi = _bend_first(amplify_resamples(law, high[part]), inits)
        ends.append(relax_fields(both, [time], Dense(other, second), phi)[-1])
    assert first is not None
    rows = torch.cat(first)[:, long.shape[1] // 2]
    return _gather_fields(torch.cat(ends), Dense(*first), amplify_resamples(law, high[:1]), rows, inits, long.shape[1:])


def _spread_weights(weights: Tensor, examples: int) -> Tensor:
    """The weights of examples from those of their groups; example i is in group i modulo the number of groups."""
    return weights.repeat(-(-examples // len(weights)))[:examples]


def _bend_first(phi: Callable[[Tensor], Tensor], inits: int) -> Callable[[Tensor], Tensor]:
    """φ for the first `inits` fields, a straight line for the others."""
    return lambda a: torch.cat([phi(a[:, :inits]), SLOPE * a[:, inits:]], 1)


def _gather_fields(
    ends: Tensor, modes: Torus | Dense, phi: Callable[[Tensor], Tensor], rows: Tensor, inits: int, grid: torch.Size
) -> ResampledFields:
    fields = ends[:1, :inits].unflatten(2, grid)
    pull = modes.pull(modes.analyse(fields))
    force = (modes.scale * (phi(pull) - SLOPE * pull)).flatten(2)[0]
    a = torch.linspace(-1, 1, 201, dtype=torch.float64)
    size = (modes.scale * torch.ones_like(pull)).flatten(2)[0]
    return ResampledFields(
        ends[:, :inits], ends[:, inits:], pull.flatten(2)[0] * size, force, rows, torch.stack([a, phi(a[None])[0]])
    )
