"""Training times of bar2023's networks on one core, for plans."""

from functools import lru_cache

import torch

from prunefield.modules.flops import count_flops
from prunefield.networks.architecture import Architecture
from prunefield.training.recipe import Recipe


@lru_cache(maxsize=64)
def measure(net: Architecture, shape: tuple[int, ...], classes: int) -> tuple[int, int, int]:
    """Operations and outputs of one forward pass of one image, and weights."""
    outline = dict(net.outline(shape, classes).named_parameters())
    thin = net.model_copy(update={"width": 1}).build(shape, classes, generator=torch.Generator())  # as many places
    flops = count_flops(thin, torch.zeros(1, *shape))
    places = {name: count // (2 * thin.get_parameter(name).numel()) for name, count in flops.items()}
    operations = sum(2 * outline[name].numel() * place for name, place in places.items())
    outputs = sum(outline[name].shape[0] * place for name, place in places.items())
    return operations, outputs, sum(weight.numel() for weight in outline.values())


def passes(net: Architecture, shape: tuple[int, ...], classes: int) -> float:
    """Seconds of a forward and a backward pass of one image."""
    flops, outputs, _ = measure(net, shape, classes)
    return FLOP * flops + OUTPUT * outputs


def train(net: Architecture, shape: tuple[int, ...], classes: int, recipe: Recipe, examples: int) -> float:
    """Seconds of a training."""
    steps, (_, _, weights) = recipe.steps(examples), measure(net, shape, classes)
    return recipe.epochs * examples * passes(net, shape, classes) + steps * (STEP[net.family] + UPDATE * weights)


# Measured on one core of a loaded machine, good to a third: per operation, output, step and weight.
FLOP, OUTPUT, UPDATE = 5.6e-11, 9e-9, 3e-9
STEP = {"lenet": 3e-4, "vgg": 8e-3, "resnet": 8e-3}
