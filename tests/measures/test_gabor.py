"""Planted Gabor functions are recovered, even in noise; white noise has neither fit nor orientation."""

import math

import pytest
import torch

from prunefield.core.seeds import generator
from prunefield.measures.gabor import find_preference, fit_gabors, flatten_fields

SIDE, UNITS = 32, 24


def draw(noise: float):
    """Gabor functions with random parameters, written independently, plus noise relative to their deviation."""
    stream = generator(0, "gabors")

    def uniform(low, high):
        return low + (high - low) * torch.rand(UNITS, generator=stream, dtype=torch.float64)

    truth = {
        "orientation": uniform(0, math.pi),
        "frequency": uniform(0.08, 0.2),
        "phase": uniform(-math.pi, math.pi),
        "x": uniform(10, 21),
        "y": uniform(10, 21),
        "along": uniform(3, 5),
        "across": uniform(3, 6),
        "amplitude": uniform(0.5, 2),
    }
    fields = torch.empty(UNITS, SIDE, SIDE, dtype=torch.float64)
    for unit, field in enumerate(fields):
        p = {name: values[unit].item() for name, values in truth.items()}
        for row in range(SIDE):
            for column in range(SIDE):
                right, down = column - p["x"], row - p["y"]
                u = right * math.cos(p["orientation"]) + down * math.sin(p["orientation"])
                v = down * math.cos(p["orientation"]) - right * math.sin(p["orientation"])
                shape = math.exp(-(u**2) / (2 * p["along"] ** 2) - v**2 / (2 * p["across"] ** 2))
                field[row, column] = p["amplitude"] * shape * math.cos(2 * math.pi * p["frequency"] * u + p["phase"])
    spread = fields.std((1, 2), keepdim=True)
    return truth, fields + noise * spread * torch.randn(fields.shape, generator=stream, dtype=torch.float64)


def gap(found, expected, period):
    return ((found - expected + period / 2) % period - period / 2).abs()


def test_planted_functions_are_recovered_exactly():
    truth, fields = draw(noise=0.0)
    found = fit_gabors(fields + 3.0)  # a constant is part of the model
    assert found.explained.min() > 1 - 1e-5
    assert gap(found.orientation, truth["orientation"], math.pi).max() < 1e-2
    for name in ("frequency", "x", "y", "along", "across", "amplitude"):
        torch.testing.assert_close(getattr(found, name), truth[name], rtol=2e-2, atol=2e-2)


def test_planted_functions_are_recovered_in_noise():
    truth, fields = draw(noise=0.5)
    found = fit_gabors(fields)
    assert (found.explained - 0.8).abs().max() < 0.05  # the signal's share, 1/(1 + 0.5²)
    assert gap(found.orientation, truth["orientation"], math.pi).max() < 0.1
    assert ((found.frequency - truth["frequency"]) / truth["frequency"]).abs().max() < 0.1
    assert torch.hypot(found.x - truth["x"], found.y - truth["y"]).median() < 0.5
    chosen = find_preference(fields)
    assert gap(chosen.orientation, truth["orientation"], math.pi).median() < 0.1
    assert chosen.selectivity.min() > 0.3


def test_white_noise_has_neither_fit_nor_orientation():
    noise = torch.randn(40, SIDE, SIDE, generator=generator(0, "noise"), dtype=torch.float64)
    assert fit_gabors(noise).explained.max() < 0.1
    found = find_preference(noise)
    inside = 0.5**2 * math.pi * SIDE**2  # wave vectors, which come in pairs of the same power
    assert found.selectivity.mean().item() == pytest.approx(math.sqrt(math.pi / (2 * inside)), rel=0.25)
    assert find_preference(draw(0.0)[1]).selectivity.min() > 5 * found.selectivity.max()


def test_transposing_a_field_mirrors_its_orientation():
    _, fields = draw(noise=0.2)
    upright, turned = find_preference(fields), find_preference(fields.transpose(1, 2))
    torch.testing.assert_close(upright.selectivity, turned.selectivity)
    assert gap(math.pi / 2 - upright.orientation, turned.orientation, math.pi).max() < 1e-9
    first, second = fit_gabors(fields[:6]), fit_gabors(fields[:6].transpose(1, 2))
    assert gap(math.pi / 2 - first.orientation, second.orientation, math.pi).max() < 1e-2
    torch.testing.assert_close(first.explained, second.explained, rtol=1e-3, atol=0)


def test_flat_fields_have_no_values():
    fields = torch.zeros(2, 3, 8, 8)
    fields[1, 0, 2:4] = 1
    flat = flatten_fields(fields)
    assert flat[1].sum().abs() < 1e-12
    assert fit_gabors(flat).explained.isnan().tolist() == [True, False]
    assert find_preference(flat).selectivity.isnan().tolist() == [True, False]
