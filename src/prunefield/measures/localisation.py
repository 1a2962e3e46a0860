"""How local a field is, and where: inverse participation ratio and peak (lufkin2024, Appendix A.3)."""

from torch import Tensor


def compute_ipr(weights: Tensor) -> Tensor:
    """The inverse participation ratio Σw⁴/(Σw²)² over the last dimension, shape (…,).

    1 for a single pixel, 1/N for a flat field, 1.5/N for a sinusoid, 3/(N+2) on average for Gaussian noise.

    >>> import torch
    >>> compute_ipr(torch.tensor([[0.0, 2.0, 0.0, 0.0], [1.0, -1.0, 1.0, 1.0]])).tolist()
    [1.0, 0.25]
    """
    squares = weights.square()
    # Divide first: the fourth power of a small float32 weight would underflow.
    shares = squares / squares.sum(-1, keepdim=True)
    return shares.square().sum(-1)


def locate_peak(weights: Tensor) -> Tensor:
    """The index of the largest |w| over the last dimension, shape (…,).

    >>> import torch
    >>> locate_peak(torch.tensor([0.1, -0.9, 0.3])).item()
    1
    """
    return weights.abs().argmax(-1)


def measure_ring_distance(first: Tensor, second: Tensor, size: int) -> Tensor:
    """The distance on a ring of `size` sites between positions, element by element.

    >>> import torch
    >>> measure_ring_distance(torch.tensor([0, 3]), torch.tensor([39, 5]), 40).tolist()
    [1, 2]
    """
    gap = (first - second).abs() % size
    return gap.minimum(size - gap)
