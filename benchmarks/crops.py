"""Batches of random crops: 40 squares of 40 to 64 pixels of images of 64 × 64, scaled to 32 × 32 and standardised.

The peers are what a user would write: Pillow crops, scales with its box filter and mirrors one image after the other;
torch cuts squares of one whole size for all of a batch and scales them with antialiasing. The images are
random grey levels in a file of 2,000, from which ours reads its rows; the peers have them in memory. The limit is
reading the rows and converting each pixel of the result once.
"""

import os
import tempfile
from collections.abc import Iterator

import numpy as np
import torch
from PIL import Image
from torch.nn.functional import interpolate

from benchmarks import Case
from prunefield.data import VARIABLE, shelf
from prunefield.tasks.tiny_imagenet import EDGE, TinyImagenet

IMAGES, BATCH, SIDE = 2000, 40, 32


def cases() -> Iterator[Case]:
    before = os.environ.get(VARIABLE)
    with tempfile.TemporaryDirectory() as folder:
        os.environ[VARIABLE] = folder
        try:
            task = TinyImagenet(side=SIDE, crops=True)
            pixels = np.random.default_rng(0).integers(0, 256, (IMAGES, 3 * EDGE**2), dtype=np.uint8)
            labels = np.arange(IMAGES) % 200
            parts = iter([("train", pixels, labels), ("test", pixels[:200], labels[:200])])
            shelf.write_shelf(task.folder(), parts, task.form, {})
            stream = torch.Generator().manual_seed(0)
            task.sample(BATCH, generator=stream)  # compiles, and takes the moments
            images = torch.from_numpy(pixels).view(-1, 3, EDGE, EDGE)
            pictures = [Image.fromarray(image) for image in images.permute(0, 2, 3, 1).numpy()]
            rows = task._shelf.rows["train"]  # pyright: ignore[reportPrivateUsage]
            same = {
                "ours": lambda: task.sample(BATCH, generator=stream),
                "limit": lambda: convert_rows(rows, stream),
                "limit_name": "rows read, results converted",
                "rounds": 30,
            }
            yield Case(
                "a batch of 40",
                peer=lambda: crop_by_pillow(pictures, stream),
                peer_name="Pillow, image by image",
                target="at most 1.5 ms",
                **same,
            )
            yield Case(
                "a batch of 40", peer=lambda: crop_by_torch(images, stream), peer_name="torch, one size a batch", **same
            )
        finally:
            os.environ.pop(VARIABLE) if before is None else os.environ.__setitem__(VARIABLE, before)


def crop_by_pillow(pictures: list[Image.Image], stream: torch.Generator) -> torch.Tensor:
    chosen = torch.randint(len(pictures), (BATCH,), generator=stream).tolist()
    crops = []
    for row, (scale, left, top, flip) in zip(chosen, torch.rand(BATCH, 4, generator=stream).tolist(), strict=True):
        size = 40 + 24 * scale
        left, top = left * (EDGE - size), top * (EDGE - size)
        crop = pictures[row].resize((SIDE, SIDE), Image.Resampling.BOX, box=(left, top, left + size, top + size))
        crops.append(np.asarray(crop.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if flip < 0.5 else crop))
    return (torch.from_numpy(np.stack(crops)).permute(0, 3, 1, 2).float() - 128) / 64


def crop_by_torch(images: torch.Tensor, stream: torch.Generator) -> torch.Tensor:
    size = int(torch.randint(40, EDGE + 1, (), generator=stream))
    rows = torch.randint(len(images), (BATCH,), generator=stream)
    left, top = torch.randint(EDGE - size + 1, (2, BATCH), generator=stream)
    crops = images.unfold(2, size, 1).unfold(3, size, 1)[rows, :, top, left].float()
    crops = interpolate(crops, (SIDE, SIDE), mode="bilinear", antialias=True)
    mirrored = torch.rand(BATCH, 1, 1, 1, generator=stream) < 0.5
    return (torch.where(mirrored, crops.flip(3), crops) - 128) / 64


def convert_rows(rows: shelf.Rows, stream: torch.Generator) -> torch.Tensor:
    taken = rows.take(torch.randint(IMAGES, (BATCH,), generator=stream).numpy())
    return torch.from_numpy(taken[:, : 3 * SIDE**2].copy()).float().sub_(128).div_(64)
