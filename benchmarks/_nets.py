"""The networks of bar2023's tables, for benchmarks: VGG-19 with batch normalisation and ResNet-20 of width 16."""

import torch
from torch import nn

from prunefield.networks.resnet import Resnet
from prunefield.networks.vgg import Vgg
from prunefield.tasks import Batch
from prunefield.tasks.normal import Normal


def build_resnet20(width: int = 16, classes: int = 10) -> nn.Module:
    """270,896 prunable weights with the width 16."""
    stream = torch.Generator().manual_seed(0)
    return Resnet(width=width).build((3, 32, 32), classes, generator=stream)


def build_vgg19(classes: int = 10) -> nn.Module:
    """20,024,000 prunable weights."""
    stream = torch.Generator().manual_seed(0)
    return Vgg(width=64).build((3, 32, 32), classes, generator=stream)


def draw_images(n: int, generator: torch.Generator) -> Batch:
    """Normal images of CIFAR's shape."""
    return Normal(shape=(3, 32, 32)).sample(n, generator=generator).fold((3, 32, 32))
