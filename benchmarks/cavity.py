"""Cavity scores of all weights, relative to their matrix products and to removing each weight.

The limit is the forward product and the four moments, in the fastest of several block shapes, which the first round
finds. The peer removes each weight of a unit, λ − w x, and computes the kurtosis of the result, vectorised, in float32;
it is timed for one unit and one class and scaled up. Sparse masks, further columns and a class of very many images have
rows of their own.
"""

import time
from collections.abc import Iterator

import torch

from benchmarks import Case
from prunefield.measures.cavity import COLUMNS, score_weights

UNITS, INPUTS, CLASSES, IMAGES = 1024, 3072, 100, 50
FEW = 256  # units in the rows on densities and columns, so that all rows take less than four minutes
REPEATS = 50
SHAPES = ((128, 512), (256, 512), (256, 1024), (1024, 3072))  # blocks of units and inputs for which products are timed
FASTEST: dict[tuple[int, ...], tuple[int, int]] = {}  # the fastest block for each size, after all have been timed once


def cases() -> Iterator[Case]:
    yield make_cavity_case(UNITS, CLASSES, IMAGES, rounds=3, target="at most 1.6 × limit, 0.2 × peer and 1000 MB")
    for units, classes, images in ((256, 100, 50), (2048, 100, 50), (1024, 10, 50), (1024, 10, 500), (256, 10, 500)):
        yield make_cavity_case(units, classes, images, rounds=2)
    weight, x, y = draw_examples(FEW, CLASSES, IMAGES)
    for density in (0.5, 0.11, 0.03):
        mask = torch.rand(weight.shape, generator=torch.Generator().manual_seed(1)) < density
        yield Case(
            f"{FEW} × {INPUTS} weights at density {density}, {CLASSES} classes of {IMAGES}",
            lambda mask=mask: score_weights(weight, x, y, mask=mask),
            limit=lambda: time_products(weight, x, CLASSES),
            limit_name="the dense matrix products",
            rounds=2,
        )
    yield Case(
        f"{FEW} × {INPUTS} weights, all columns, {CLASSES} classes of {IMAGES}",
        lambda: score_weights(weight, x, y, columns=COLUMNS),
        limit=lambda: time_products(weight, x, CLASSES),
        limit_name="its matrix products",
        rounds=2,
    )
    many = draw_examples(64, 1, 50_000)
    yield Case(
        f"64 × {INPUTS} weights, 50,000 images pooled",
        lambda: score_weights(*many),
        limit=lambda: time_products(many[0], many[1], 1),
        limit_name="its matrix products",
        rounds=2,
    )


def make_cavity_case(units: int, classes: int, images: int, *, rounds: int, target: str = "") -> Case:
    weight, x, y = draw_examples(units, classes, images)
    score_weights(weight[:64], x[: 8 * classes], y[: 8 * classes])  # compiles
    return Case(
        f"{units} × {INPUTS} weights, {classes} classes of {images}",
        lambda: score_weights(weight, x, y),
        peer=lambda: time_removal(weight, x[y == 0]) * units * classes,
        peer_name="λ − w x, vectorised, scaled from one unit and class",
        limit=lambda: time_products(weight, x, classes),
        limit_name="its matrix products",
        rounds=rounds,
        target=target,
    )


def draw_examples(units: int, classes: int, images: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    stream = torch.Generator().manual_seed(0)
    x = torch.randn(classes * images, INPUTS, generator=stream) ** 3
    return torch.randn(units, INPUTS, generator=stream), x, torch.arange(len(x)) % classes


def time_products(weight: torch.Tensor, x: torch.Tensor, classes: int) -> float:
    """The seconds of the forward product and of the products for the moments; the values do not matter."""
    begin = time.perf_counter()
    u = weight @ x.T
    forward = time.perf_counter() - begin
    key = (*weight.shape, len(x), classes)
    tried = [FASTEST[key]] if key in FASTEST else SHAPES
    seconds = {shape: time_blocks(u, x, len(x) // classes, *shape) for shape in tried}
    FASTEST[key] = min(seconds, key=seconds.__getitem__)
    return forward + seconds[FASTEST[key]]


def time_blocks(u: torch.Tensor, x: torch.Tensor, n: int, units: int, inputs: int) -> float:
    begin = time.perf_counter()
    for left in u.split(units):
        odd, moments = left.repeat(2, 1), torch.empty(4 * len(left), inputs)
        outs = moments.split([2 * len(left), len(left), len(left)])
        for right in x.split(inputs, 1):
            for start in range(0, len(x), n):
                part = slice(start, start + n)
                for out, powers in zip(outs, (odd, left, left), strict=True):
                    torch.mm(powers[:, part], right[part], out=out)
    return time.perf_counter() - begin


def time_removal(weight: torch.Tensor, x: torch.Tensor) -> float:
    """The seconds for one unit and one class."""
    centred = x - x.mean(0)
    values = centred @ weight[0]
    begin = time.perf_counter()
    for _ in range(REPEATS):
        square = (values[:, None] - centred * weight[0]).square()
        second = square.mean(0)
        torch.div(square.square().mean(0), second.square())
    return (time.perf_counter() - begin) / REPEATS
