"""Squares cut from images and scaled to side × side pixels, each pixel the mean over the area that it covers."""

import math
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from prunefield.core.compilation import compile_loop


class Planes(NamedTuple):
    """Images of any size, one after the other, each of `channels` planes of height × width pixels (uint8)."""

    pixels: np.ndarray
    height: np.ndarray
    width: np.ndarray
    channels: int


def cut_squares(images: Planes, squares: Tensor, side: int) -> Tensor:
    """Grey levels of one square of each image, (n, channels·side²), float32.

    Pixel (i, j) is the mean of the image over [top + iℓ, top + (i+1)ℓ] × [left + jℓ, left + (j+1)ℓ] with ℓ = size/side:
    antialiased, and exactly the mean of k × k pixels where a pixel covers them. The columns of `squares` (n, 4),
    float64, are left, top and size, in pixels and inside of the image, and whether the result is mirrored (> 0).

    >>> one = Planes(np.arange(16, dtype=np.uint8), np.array([4]), np.array([4]), 1)
    >>> cut_squares(one, torch.tensor([[0.0, 0, 4, 0]], dtype=torch.float64), 2)
    tensor([[ 2.5000,  4.5000, 10.5000, 12.5000]])
    """
    out = torch.empty(len(squares), images.channels, side, side)
    if len(squares):
        compile_loop(_cut, exact=True)(
            images.pixels, images.height, images.width, squares.contiguous().numpy(), out.numpy()
        )
    return out.flatten(1)


def _cut(pixels: np.ndarray, height: np.ndarray, width: np.ndarray, squares: np.ndarray, out: np.ndarray) -> None:
    """First rows, then columns; a pixel outside of the area has weight 0, so that all sums have the same length."""
    n, channels, side, _ = out.shape
    most = int(squares[:, 2].max() / side) + 2
    first, count = np.empty((2, side), np.int64), np.empty((2, side), np.int64)
    weight = np.empty((2, most, side), np.float32)
    line, places = np.zeros(width.max() + most, np.float32), np.empty(side, np.uint64)
    start = 0
    for image in range(n):
        high, wide = height[image], width[image]
        step = squares[image, 2] / side
        taps = 1
        for axis in range(2):
            edge = wide if axis == 0 else high
            for place in range(side):
                low = squares[image, axis] + place * step
                top = low + step
                begin = min(int(low), edge - 1)
                size = min(math.ceil(top), edge) - begin
                first[axis, place], count[axis, place] = begin, size
                taps = max(taps, size) if axis == 0 else taps
                for tap in range(most):
                    part = min(top, begin + tap + 1.0) - max(low, begin + tap)
                    weight[axis, tap, place] = max(part, 0.0) / step if tap < size else 0.0
        left = first[0, 0]
        reach = first[0, side - 1] + count[0, side - 1] - left
        for column in range(side):  # unsigned: a negative place would be one from the end, which takes time to exclude
            places[column] = first[0, side - 1 - column if squares[image, 3] > 0 else column] - left
        if squares[image, 3] > 0:
            weight[0] = weight[0, :, ::-1].copy()
        for channel in range(channels):
            for row in range(side):
                base = start + (channel * high + first[1, row]) * wide + left
                source, share = pixels[base : base + reach], weight[1, 0, row]
                for place in range(reach):
                    line[place] = share * np.float32(source[place])
                for tap in range(1, count[1, row]):
                    base += wide
                    source, share = pixels[base : base + reach], weight[1, tap, row]
                    for place in range(reach):
                        line[place] += share * np.float32(source[place])
                line[reach : reach + taps] = 0
                result, shares = out[image, channel, row], weight[0, 0]
                for column in range(side):
                    result[column] = shares[column] * line[places[column]]
                for tap in range(1, taps):
                    shifted, shares = line[tap:], weight[0, tap]
                    for column in range(side):
                        result[column] += shares[column] * shifted[places[column]]
        start += channels * high * wide
