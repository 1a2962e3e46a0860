"""Training times of networks on one core, for plans."""

import json
from functools import lru_cache
from typing import NamedTuple

import torch

from prunefield.modules.flops import count_flops
from prunefield.modules.outlines import allocate_
from prunefield.networks import Network
from prunefield.training.recipe import Recipe

# Seconds, measured on one core of a loaded machine, good to a third: per operation, output, updated tensor and weight.
FLOP, OUTPUT, TENSOR, WEIGHT = 5.6e-11, 9e-9, 1.2e-4, 3e-9


class NetworkSize(NamedTuple):
    """Operations and outputs of one forward pass of one image, weights, and the tensors that they are in."""

    operations: int
    outputs: int
    weights: int
    tensors: int


def measure_network(net: Network, shape: tuple[int, ...], classes: int) -> NetworkSize:
    """The size of a network, whatever its weights are."""
    return _measure_network(json.dumps(net.settings()), shape, classes)


@lru_cache(maxsize=64)
def _measure_network(settings: str, shape: tuple[int, ...], classes: int) -> NetworkSize:
    built = allocate_(Network.parse(json.loads(settings)).outline(shape, classes))
    flops = count_flops(built, torch.zeros(1, *shape))  # on the meta device, batch norm would import torch's compiler
    outputs = sum(count // (2 * built.get_parameter(name)[0].numel()) for name, count in flops.items())
    sizes = [weight.numel() for weight in built.parameters()]
    return NetworkSize(sum(flops.values()), outputs, sum(sizes), len(sizes))


def estimate_pass(net: Network, shape: tuple[int, ...], classes: int) -> float:
    """Seconds of a forward and a backward pass of one image."""
    size = measure_network(net, shape, classes)
    return FLOP * size.operations + OUTPUT * size.outputs


def estimate_training(net: Network, shape: tuple[int, ...], classes: int, recipe: Recipe, examples: int) -> float:
    """Seconds of a training."""
    size = measure_network(net, shape, classes)
    each = TENSOR * size.tensors + WEIGHT * size.weights
    return recipe.epochs * examples * estimate_pass(net, shape, classes) + recipe.steps(examples) * each
