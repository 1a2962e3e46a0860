"""The networks of bar2023's tables, for benchmarks: VGG-19 with batch normalisation and ResNet-20 of width 16."""

import torch
from torch import nn

from prunefield.networks.architecture import Architecture


def build_resnet20(width: int = 16, classes: int = 10) -> nn.Module:
    """270,896 prunable weights with the width 16."""
    stream = torch.Generator().manual_seed(0)
    return Architecture(family="resnet", width=width).build((3, 32, 32), classes, generator=stream)


def build_vgg19(classes: int = 10) -> nn.Module:
    """20,024,000 prunable weights."""
    stream = torch.Generator().manual_seed(0)
    return Architecture(family="vgg", width=64).build((3, 32, 32), classes, generator=stream)
