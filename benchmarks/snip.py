"""The score `snip` of ResNet-20 on one batch, relative to the gradient of its loss."""

from collections.abc import Iterator

import torch
from torch import nn
from torch.nn import functional

from benchmarks import Case
from benchmarks._memory import memory_cases
from benchmarks._nets import build_resnet20, draw_images
from prunefield.scores.snip import Snip
from prunefield.tasks import Batch


def cases() -> Iterator[Case]:
    net, generator = build_resnet20(), torch.Generator().manual_seed(0)
    for n in (32, 256):
        batch = draw_images(n, generator)
        yield Case(
            f"ResNet-20, {n} images",
            lambda batch=batch: Snip()(net, [batch], generator=generator),
            limit=lambda batch=batch: compute_gradient(net, batch),
            limit_name="one gradient",
            rounds=4,
            target="at most 1.3 × limit",
        )
    yield from memory_cases(Snip(), 64)


def compute_gradient(net: nn.Module, batch: Batch) -> None:
    net.eval()
    net.zero_grad()
    functional.cross_entropy(net(batch.x), batch.y).backward()
