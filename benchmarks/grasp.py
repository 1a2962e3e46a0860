"""The score `grasp` of ResNet-20 on one and two batches, relative to the gradient of the same loss."""

from collections.abc import Iterator

import torch
from torch import nn
from torch.nn import functional

from benchmarks import Case
from benchmarks._memory import memory_cases
from benchmarks._nets import build_resnet20, draw_images
from prunefield.scores.grasp import Grasp
from prunefield.tasks import Batch


def cases() -> Iterator[Case]:
    net, generator = build_resnet20(), torch.Generator().manual_seed(0)
    for number in (1, 2):
        batches = [draw_images(64, generator) for _ in range(number)]
        yield Case(
            f"ResNet-20, {number} × 64 images",
            lambda batches=batches: Grasp()(net, batches, generator=generator),
            limit=lambda batches=batches: sum_gradients(net, batches),
            limit_name="one gradient",
            rounds=4,
            target="at most 5 × limit",
        )
    yield from memory_cases(Grasp(), 64)
    yield from memory_cases(Grasp(parts=1), 64, " at once")


def sum_gradients(net: nn.Module, batches: list[Batch]) -> None:
    net.eval()
    net.zero_grad()
    for x, y in batches:
        functional.cross_entropy(net(x), y).backward()
