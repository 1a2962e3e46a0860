"""SynFlow's 100 iterations, from network to mask, relative to 100 bare forward and backward passes on one input."""

from collections.abc import Iterator

import torch
from torch import nn

from benchmarks import Case
from benchmarks._memory import memory_cases
from benchmarks._nets import build_resnet20, build_vgg19
from prunefield.pruning.iterations import prune
from prunefield.scores.synflow import Synflow

ITERATIONS, DENSITY = 100, 0.1


def cases() -> Iterator[Case]:
    for name, net, rounds, bound in (("ResNet-20", build_resnet20(), 4, 1.5), ("VGG-19", build_vgg19(), 2, 3)):
        yield Case(
            f"{name}, {ITERATIONS} iterations",
            lambda net=net: prune_network(net),
            limit=lambda net=net: run_passes(net),
            limit_name="bare forward and backward passes",
            rounds=rounds,
            target=f"at most {bound} × limit",
        )
    yield from memory_cases(Synflow(), 1)


def prune_network(net: nn.Module, iterations: int = ITERATIONS) -> None:
    score = Synflow(shape=(3, 32, 32))
    prune(net, score, DENSITY, generator=torch.Generator(), iterations=iterations)


def run_passes(net: nn.Module, iterations: int = ITERATIONS) -> None:
    net.eval()
    x = torch.ones(1, 3, 32, 32)
    for _ in range(iterations):
        net.zero_grad()
        net(x).sum().backward()
