"""SynFlow and SNIP of a linear model f(x) = wᵀx (bar2023, Sections 5 and 6).

Inputs X have shape (d, n), with example x_i in column i; weights w have shape (d,), labels y (n,). All computations are
in double precision.
"""

import torch
from torch import Tensor


def score_flow(w: Tensor, entry: Tensor) -> Tensor:
    """SynFlow's ∂R/∂|w_i|·|w_i| = v_i|w_i| for the input v (Eqs. 3 and 4); v_i = ‖X_(i)‖ makes it p0 times a constant.

    >>> score_flow(torch.tensor([-2.0, 1.0]), torch.tensor([3.0, 4.0])).tolist()
    [6.0, 4.0]
    """
    return entry.double() * w.double().abs()


def score_sensitivity(w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """SNIP's |∂L/∂m_j| for the ℓ1 loss L = (1/n)·Σ_i |x_iᵀ(w⊙m) − y_i| at m = 1: (1/n)·|w_j·Σ_i sign(x_iᵀw − y_i)x_ij|.

    As printed (Section 6), y_i is inside the brackets of x_iᵀ(·), and the sum has no absolute value.

    >>> x = torch.tensor([[3.0, 0.0], [0.0, -4.0]])
    >>> score_sensitivity(torch.tensor([-2.0, 1.0]), x, torch.tensor([7.0, 5.0])).tolist()
    [3.0, 2.0]
    """
    return unbracketed_sensitivity(w, x, y).abs()


def unbracketed_sensitivity(w: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The right side of Section 6 as printed, (1/n)·|w_j|·Σ_i sign(x_iᵀw − y_i)x_ij, which may be negative.

    >>> x = torch.tensor([[3.0, 0.0], [0.0, -4.0]])
    >>> unbracketed_sensitivity(torch.tensor([-2.0, 1.0]), x, torch.tensor([7.0, 5.0])).tolist()
    [-3.0, 2.0]
    """
    w, x, y = w.double(), x.double(), y.double()
    return w.abs() * (x @ torch.sign(w @ x - y)) / len(y)


def binary_error(w: Tensor, kept: Tensor) -> Tensor:
    """The error of a binary mask for Gaussian X, Σ_k (1 − π_k)·w_k², where π of shape (…, d) are the
    probabilities of being kept.

    The mask may be random but must not depend on X. The error is smallest if the s largest |w_k| are kept, so sampling
    cannot reduce it.

    >>> binary_error(torch.tensor([3.0, 1.0]), torch.tensor([1.0, 0.0])).item()
    1.0
    """
    return ((1 - kept.double()) * w.double().square()).sum(-1)
