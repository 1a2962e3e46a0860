"""Batches that contain every translate and both signs of each example.

Stimulus properties S2 and S3 of lufkin2024 make all of them equally probable, so that gradients keep their mean and
lose most of their noise. Translating the weights instead of the examples gives the same products.
"""

from functools import cache

import torch
from torch import Tensor


@cache
def list_translates(shape: tuple[int, ...]) -> Tensor:
    """For each translation of a ring or torus of this shape, where it takes every site, (sites, sites).

    >>> list_translates((3,)).tolist()
    [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    """
    places = torch.cartesian_prod(*(torch.arange(length) for length in shape)).view(-1, len(shape))
    moved = (places[:, None] + places) % torch.tensor(shape)
    steps = torch.tensor([*torch.tensor([*shape[1:], 1]).flip(0).cumprod(0).flip(0)])
    return (moved * steps).sum(-1)


@cache
def invert_translates(shape: tuple[int, ...]) -> Tensor:
    """The inverse permutation of each row of `list_translates`.

    >>> invert_translates((3,)).tolist()
    [[0, 1, 2], [2, 0, 1], [1, 2, 0]]
    """
    return list_translates(shape).argsort(1)


def translate_fields(fields: Tensor, shape: tuple[int, ...]) -> Tensor:
    """All translates of fields (…, sites) on a ring or torus, shape (sites, …, sites).

    >>> translate_fields(torch.tensor([1, 2, 3]), (3,)).tolist()
    [[1, 2, 3], [2, 3, 1], [3, 1, 2]]
    """
    return fields[..., list_translates(shape).to(fields.device)].movedim(-2, 0)


def average_translates(slopes: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The gradient (…, sites) of a mean over translates from the gradients (sites, …, sites) at each of them.

    >>> slopes = torch.tensor([[3.0, 0.0, 0.0], [0.0, 6.0, 0.0], [0.0, 0.0, 0.0]])
    >>> average_translates(slopes, (3,)).tolist()  # 3 at site 0, 6 at site 1 + 1
    [1.0, 0.0, 2.0]
    """
    back = invert_translates(shape).to(slopes.device).view(len(slopes), *[1] * (slopes.dim() - 2), -1)
    return slopes.gather(-1, back.expand_as(slopes)).mean(0)


def compute_symmetric_gradient(w: Tensor, x: Tensor, y: Tensor, shape: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Loss (inits,) and gradient (inits, N) of ReLU neurons w (inits, N) on all translates and signs of x (n, N).

    With c = w·x, the mean of (max(0, ±c) − y)² over both signs is y² − y|c| + c²/2 and has the slope (c − y sign c)x.
    The quadratic part needs only the mean of xxᵀ over translates, so only examples with y > 0 are projected.

    >>> one = torch.tensor([[1.0]])
    >>> compute_symmetric_gradient(one, 3 * one, one[0], (1,))  # ½(3 − 1)² + ½(0 − 1)²; (3 − 1)·3
    (tensor([2.5000]), tensor([[6.]]))
    """
    moments = x.T @ x / len(x)
    correlation = moments.gather(1, list_translates(shape).T.to(x.device)).mean(0)
    pull = w @ correlation[invert_translates(shape).to(x.device)]
    target = y.to(x)
    rows = target.nonzero().flatten()
    chosen, moved = x[rows], translate_fields(w, shape)
    signs = (chosen @ moved.flatten(0, 1).T).sign_()
    push = average_translates((signs.T @ (chosen * (target[rows] / len(x))[:, None])).view_as(moved), shape)
    return target.square().mean() + (w * (pull / 2 - push)).sum(-1), pull - push
