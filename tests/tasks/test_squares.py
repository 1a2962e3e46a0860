"""Squares cut from images: compared with Pillow where pixels are whole, and with enlarged images where they are not."""

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from prunefield.tasks._squares import Planes, cut_squares


def lay_out(images):
    heights, widths = (np.array([image.shape[axis] for image in images]) for axis in (1, 2))
    return Planes(np.concatenate([image.reshape(-1) for image in images]), heights, widths, images[0].shape[0])


def cut(images, squares, side):
    found = cut_squares(lay_out(images), torch.tensor(squares, dtype=torch.float64), side)
    return found.view(len(images), -1, side, side).numpy()


@st.composite
def draw_case(draw):
    """Images of several sizes; the sizes and places of squares are whole numbers of 1/fine of a pixel."""
    side, fine, channels = draw(st.integers(1, 9)), draw(st.integers(1, 4)), draw(st.sampled_from([1, 3]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    images, squares = [], []
    for _ in range(draw(st.integers(1, 3))):
        block = draw(st.integers(fine, 3 * fine))  # a pixel of the result has block × block pieces
        height, width = (-(-side * block // fine) + draw(st.integers(0, 5)) for _ in range(2))
        images.append(rng.integers(0, 256, (channels, height, width), dtype=np.uint8))
        left, top = (draw(st.integers(0, edge * fine - side * block)) for edge in (width, height))
        squares.append((left, top, block, draw(st.booleans())))
    return images, squares, side, fine


@given(draw_case())
def test_a_pixel_is_the_mean_over_its_area(case):
    images, squares, side, fine = case
    found = cut(images, [[a / fine, b / fine, side * m / fine, float(f)] for a, b, m, f in squares], side)
    for image, (left, top, block, flip), mine in zip(images, squares, found, strict=True):
        pieces = image.astype(float).repeat(fine, 1).repeat(fine, 2)
        square = pieces[:, top : top + side * block, left : left + side * block]
        expected = square.reshape(-1, side, block, side, block).mean((2, 4))
        np.testing.assert_allclose(mine, expected[..., ::-1] if flip else expected, atol=1e-3)


@given(st.integers(1, 4), st.integers(1, 12), st.integers(0, 6), st.integers(0, 6), st.integers(0, 2**32 - 1))
def test_whole_blocks_are_those_of_pillow(block, side, left, top, seed):
    edge = side * block + 6
    image = np.random.default_rng(seed).integers(0, 256, (edge, edge), dtype=np.uint8)
    box = (left, top, left + side * block, top + side * block)
    oracle = Image.fromarray(image.astype(np.float32)).resize((side, side), Image.Resampling.BOX, box=box)
    np.testing.assert_allclose(
        cut([image[None]], [[left, top, side * block, 0]], side)[0, 0], np.asarray(oracle), rtol=1e-5
    )


def test_a_square_of_its_own_size_is_exact():
    image = np.random.default_rng(0).integers(0, 256, (3, 7, 9), dtype=np.uint8)
    assert np.array_equal(cut([image], [[2, 0, 7, 0]], 7)[0], image[:, :, 2:])
    assert np.array_equal(cut([image], [[2, 0, 7, 1]], 7)[0], image[:, :, :1:-1])


@given(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_a_square_may_touch_every_edge(size, left, top):
    """Rounding must not lead outside of the image, and the mean of a flat image is its grey level."""
    edge = 5 + 8 * size
    square = [(13 - edge) * left, (13 - edge) * top, edge, 0.0]
    flat = [np.full((1, 13, 13), 200, np.uint8), np.zeros((1, 13, 13), np.uint8)]
    found = cut(flat, [square, square], 5)
    np.testing.assert_allclose(found[0], 200, rtol=1e-5)
    assert not found[1].any()


def test_no_squares_are_no_work():
    empty = Planes(np.zeros(0, np.uint8), np.zeros(0, np.int64), np.zeros(0, np.int64), 3)
    assert cut_squares(empty, torch.zeros(0, 4, dtype=torch.float64), 8).shape == (0, 192)
