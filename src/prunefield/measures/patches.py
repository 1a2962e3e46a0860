"""Patches: whether the inputs that a mask keeps are clustered or isolated."""

import torch
from torch import Tensor
from torch.nn import functional


def find_lonely_share(masks: Tensor) -> Tensor:
    """The share of a unit's kept inputs with none of their eight neighbours in the same channel kept.

    Masks (units, channels, height, width) give (units,) in float64; NaN for a unit that keeps nothing. Random masks
    with density p have (1 − p)⁸ far from the border.

    >>> line, dot = torch.eye(4)[None], torch.zeros(1, 4, 4)
    >>> dot[0, 0, 3] = 1
    >>> find_lonely_share(torch.stack([line, line + dot])).tolist()
    [0.0, 0.2]
    """
    kept = masks.to(torch.float64)
    window = torch.ones(1, 1, 3, 3, dtype=torch.float64)
    around = functional.conv2d(kept.flatten(0, 1)[:, None], window, padding=1).view_as(kept)
    return (kept * (around == 1)).flatten(1).sum(1) / kept.flatten(1).sum(1)
