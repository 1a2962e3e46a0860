"""Integrals over a standard normal variable, for odd functions that are steep at 0 and have long tails."""

from functools import cache

import numpy as np
import torch
from torch import Tensor

FAR = 37.0  # beyond it the normal tail underflows in float64


@cache
def half_normal(depth: int = 24) -> tuple[Tensor, Tensor]:
    """Nodes z > 0 and weights such that Σ weights·f(z) = E f(|Z|), Z standard normal; both of shape (nodes,).

    Panels halve `depth` times towards 0, for functions that bend there on a scale of 2^−depth.

    >>> z, weights = half_normal(3)
    >>> round(float((weights * z**4).sum()), 12)
    3.0
    """
    edges = [0.0] + [2.0**-power for power in range(depth, 0, -1)] + [1, 2, 3, 4, 5, 6, 7.5, 9, 11, 13]
    return _weigh_nodes(np.array(edges), 10)


@cache
def long_half_normal() -> tuple[Tensor, Tensor]:
    """The same, up to where the tail underflows and fine enough for Hermite polynomials of high degree."""
    return _weigh_nodes(np.concatenate([[0.0], 2.0 ** -np.arange(20, 1, -1.0), np.arange(0.5, FAR + 0.1, 0.5)]), 16)


def place_nodes(edges: np.ndarray, order: int) -> tuple[Tensor, Tensor]:
    """Gauss–Legendre nodes and weights of every panel between `edges`, shape ((edges − 1) · order,).

    >>> x, weights = place_nodes(np.array([0.0, 1.0, 3.0]), 4)
    >>> round(float((weights * x**2).sum()), 12)
    9.0
    """
    points, weights = np.polynomial.legendre.leggauss(order)
    half = np.diff(edges)[:, None] / 2
    nodes = (edges[:-1, None] + half * (1 + points)).ravel()
    return torch.from_numpy(nodes), torch.from_numpy((half * weights).ravel())


def _weigh_nodes(edges: np.ndarray, order: int) -> tuple[Tensor, Tensor]:
    nodes, weights = place_nodes(edges, order)
    return nodes, weights * torch.exp(-nodes.square() / 2) * (2 / np.pi) ** 0.5
