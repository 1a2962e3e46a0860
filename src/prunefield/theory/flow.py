"""The early-time gradient flow of one ReLU neuron (lufkin2024, Eq. 5) and its flat steady state.

ẇ = ½ φ(Σ₁w/√(wᵀΣ₁w)) − ½ (Σ₀ + Σ₁)w, in the time t = steps × learning rate. The data enter only through their two
covariances and the amplifier φ. With K classes y = 0, …, K − 1 it is ẇ = (1/K) Σ_y (y φ(Σ_y w/√(wᵀΣ_y w)) − Σ_y w)
(Eq. 10, whose sum must begin at 0).
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from prunefield.core.errors import RunError
from prunefield.theory.interpolation import tabulate_function
from prunefield.theory.velocity import compile_velocity, fold_matrices


def compute_velocity(w: Tensor, short: Tensor, long: Tensor, amplifier: Callable[[Tensor], Tensor]) -> Tensor:
    """The velocity ẇ of the fields `w` of shape (…, N) under Σ₀ = `short` and Σ₁ = `long`, both of shape (N, N)."""
    pull = w @ long
    norm = (w * pull).sum(-1, keepdim=True).sqrt()
    return (amplifier(pull / norm) - w @ short - pull) / 2


def integrate_flow(
    start: Tensor,
    times: Sequence[float],
    short: Tensor,
    long: Tensor,
    amplifier: Callable[[Tensor], Tensor],
    *,
    tolerance: float = 1e-6,
) -> Tensor:
    """The fields at `times`, the first of which is the time of `start`, shape (times, …, N).

    All fields are integrated side by side as one system, by an explicit method of order 8 with adaptive steps; φ is
    read from a table accurate to 1e-10, or evaluated if there is no such table (`tabulate_function`).

    >>> one = torch.eye(4, dtype=torch.float64)
    >>> from prunefield.theory.amplifier import amplify_gaussian
    >>> path = integrate_flow(torch.full((1, 4), 0.1, dtype=torch.float64), [0.0, 30.0], one, one, amplify_gaussian)
    >>> path[-1, 0].round(decimals=4).tolist()  # √(2/π)·√(1/4)/2
    [0.1995, 0.1995, 0.1995, 0.1995]
    """
    from scipy.integrate import solve_ivp

    rows = tabulate_function(amplifier)
    even, odd = fold_matrices(torch.cat([long, short + long], 1).to(torch.float64).numpy())
    compiled = compile_velocity()

    def velocity(_: float, flat: np.ndarray) -> np.ndarray:
        if rows is None:
            fields = torch.from_numpy(flat).view(-1, len(long))
            return compute_velocity(fields, short, long, amplifier).flatten().numpy()
        return compiled(flat, even, odd, rows)

    first = start.to(torch.float64).flatten().numpy()
    solution = solve_ivp(
        velocity, (times[0], times[-1]), first, "DOP853", t_eval=list(times), rtol=tolerance, atol=tolerance * 1e-3
    )
    if not solution.success:
        raise RunError(f"the flow could not be integrated beyond t = {solution.t[-1]:g}: {solution.message}")
    return torch.from_numpy(solution.y.T.copy()).view(len(times), *start.shape)


def compute_class_velocity(w: Tensor, covariances: Sequence[Tensor], amplifier: Callable[[Tensor], Tensor]) -> Tensor:
    """The velocity of the fields `w` (…, N) for one covariance (N, N) per class y = 0, …, K − 1 (Eq. 10, Lemma 3.1).

    >>> one = torch.eye(2, dtype=torch.float64)
    >>> from prunefield.theory.amplifier import amplify_gaussian
    >>> compute_class_velocity(one[:1], [one, one, one], amplify_gaussian).round(decimals=4).tolist()  # √(2/π) − 1
    [[-0.2021, 0.0]]
    """
    total = torch.zeros_like(w)
    for label, covariance in enumerate(covariances):
        pull = w @ covariance
        total -= pull
        if label:
            total += label * amplifier(pull / (w * pull).sum(-1, keepdim=True).sqrt())
    return total / len(covariances)


def integrate_velocity(
    start: Tensor, times: Sequence[float], velocity: Callable[[Tensor], Tensor], *, tolerance: float = 1e-6
) -> Tensor:
    """The weights at `times`, the first of which is the time of `start`, shape (times, *start.shape), for any flow.

    >>> integrate_velocity(torch.ones(1, dtype=torch.float64), [0.0, 1.0], lambda w: -w)[-1].round(decimals=4).tolist()
    [0.3679]
    """
    from scipy.integrate import solve_ivp

    def change(_: float, flat: np.ndarray) -> np.ndarray:
        return velocity(torch.from_numpy(flat).view_as(start)).flatten().numpy()

    span, first = (times[0], times[-1]), start.to(torch.float64).flatten().numpy()
    found = solve_ivp(change, span, first, "DOP853", t_eval=list(times), rtol=tolerance, atol=tolerance * 1e-3)
    if not found.success:
        raise RunError(f"the flow could not be integrated beyond t = {found.t[-1]:g}: {found.message}")
    return torch.from_numpy(found.y.T.copy()).view(len(times), *start.shape)


def find_flat_state(short: Tensor, long: Tensor, amplifier: Callable[[Tensor], Tensor]) -> float:
    """The height c of the flat steady state w = ±c: c = φ(√(λ₁/N))/(λ₀ + λ₁), λ being the row sums of Σ₀ and Σ₁.

    For a Gaussian, N = 40 and ξ = (1, 3) this is 0.0410, where the fields of elliptical data end.

    >>> from prunefield.theory import amplifier, fields
    >>> short, long = (fields.make_circulant(fields.correlate_sites(40, xi)) for xi in (1.0, 3.0))
    >>> round(find_flat_state(short, long, amplifier.amplify_gaussian), 4)
    0.041
    """
    low, high = short[0].sum(), long[0].sum()
    return float(amplifier((high / len(long)).sqrt()) / (low + high))
