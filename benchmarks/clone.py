"""The Gaussian clone of one class of 100 images, relative to numpy's multivariate normal and to its own steps.

The peer is given the covariance and draws the three channels one by one; most of its time is the factorisation, which
numpy repeats in each call. The limit is what cannot be avoided: the random numbers, and their product with the images
for each channel.
"""

from collections.abc import Iterator

import numpy as np
import torch

from benchmarks import Case
from prunefield.tasks.clone import Clone
from prunefield.tasks.leaves import Leaves

COUNT, PIXELS, CHANNELS = 100, 1024, 3


def cases() -> Iterator[Case]:
    clone = Clone(of=Leaves(categories=2), per_class=COUNT)
    images = torch.rand(CHANNELS, COUNT, PIXELS)
    covariances = [np.cov(channel.T.numpy()) + 1e-3 * np.eye(PIXELS) for channel in images]
    for n in (40, 1281):
        labels = torch.zeros(n, dtype=torch.long)
        clone.draw(labels, generator=torch.Generator())  # fits it
        yield Case(
            f"{n} images of one class",
            lambda labels=labels: clone.draw(labels, generator=torch.Generator().manual_seed(0)),
            peer=lambda n=n: draw_by_numpy(covariances, n),
            peer_name="numpy's multivariate normal, channel by channel",
            limit=lambda n=n: draw_parts(images, n),
            limit_name="random numbers and products",
            target="at most 0.05 × peer",
        )
    many = Clone(of=Leaves(), per_class=COUNT)
    mixed = torch.randint(10, (40,), generator=torch.Generator().manual_seed(0))
    many.draw(mixed, generator=torch.Generator())
    yield Case(
        "a batch of 40 from ten classes",
        lambda: many.draw(mixed, generator=torch.Generator().manual_seed(0)),
        limit=lambda: draw_parts(images, 40),
        limit_name="random numbers and products, all of one class",
        rounds=20,
    )


def draw_by_numpy(covariances: list[np.ndarray], n: int) -> None:
    rng = np.random.default_rng(0)
    for covariance in covariances:
        rng.multivariate_normal(np.zeros(PIXELS), covariance, n)


def draw_parts(images: torch.Tensor, n: int) -> None:
    generator = torch.Generator().manual_seed(0)
    torch.randn(CHANNELS, n, PIXELS, generator=generator)
    torch.bmm(torch.randn(CHANNELS, n, COUNT, generator=generator), images)
