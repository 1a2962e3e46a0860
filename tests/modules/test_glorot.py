"""Glorot's truncated normal."""

import math

import pytest
import torch
from scipy.stats import kstest, truncnorm

from prunefield.modules.glorot import draw_glorot


def test_it_is_a_truncated_normal_of_the_requested_variance():
    w = draw_glorot(2000, 40, 1, scale=0.1, generator=torch.Generator().manual_seed(0)).flatten()
    variance = 0.1 * 2 / 41
    assert w.var().item() == pytest.approx(variance, rel=0.02)
    scale = math.sqrt(variance / truncnorm(-2, 2).var())
    assert w.abs().max().item() <= 2 * scale
    assert kstest(w.numpy(), truncnorm(-2, 2, scale=scale).cdf).pvalue > 1e-3
