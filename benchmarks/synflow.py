"""SynFlow's 100 iterations, from the network to the mask, against 100 bare forward and backward passes on one input."""

from collections.abc import Iterator

import torch
from torch import nn

from benchmarks import Case
from benchmarks._nets import resnet20, vgg19
from prunefield.schedules import shrink
from prunefield.scores.synflow import Synflow

ITERATIONS, DENSITY = 100, 0.1


def cases() -> Iterator[Case]:
    for name, net, iterations, bound in (("ResNet-20", resnet20(), ITERATIONS, 1.5), ("VGG-19", vgg19(), 20, 3)):
        yield Case(
            f"{name}, {iterations} iterations",
            lambda net=net, iterations=iterations: prune(net, iterations),
            limit=lambda net=net, iterations=iterations: passes(net, iterations),
            limit_name="bare forward and backward passes",
            rounds=3,
            target=f"at most {bound} × limit",
        )


def prune(net: nn.Module, iterations: int) -> None:
    score = Synflow(shape=(3, 32, 32))
    shrink(net, score, DENSITY, generator=torch.Generator(), iterations=iterations)


def passes(net: nn.Module, iterations: int) -> None:
    net.eval()
    x = torch.ones(1, 3, 32, 32)
    for _ in range(iterations):
        net.zero_grad()
        net(x).sum().backward()
