"""What every network must do, present and future; also under the names of its usual settings."""

import json

import pytest
import torch

from prunefield.core.names import list_presets, modules, read_summary
from prunefield.core.plugin import find_class
from prunefield.networks import Network
from prunefield.scores import find_prunable

NAMES = [*modules("networks"), *list_presets("networks")]


def build(name, seed=0):
    net = Network.parse(name)
    return net.build(net.shape, 7, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("kind", NAMES)
class TestNetwork:
    def test_is_determined_by_its_generator_alone(self, kind):
        before = torch.random.get_rng_state()
        first, second, other = (build(kind, seed).state_dict() for seed in (0, 0, 1))
        assert torch.equal(before, torch.random.get_rng_state())
        assert all(torch.equal(tensor, second[name]) for name, tensor in first.items())
        assert any(not torch.equal(tensor, other[name]) for name, tensor in first.items())

    def test_maps_inputs_of_its_usual_shape_to_classes(self, kind):
        net = build(kind)
        x = torch.randn(2, *Network.parse(kind).shape, generator=torch.Generator().manual_seed(0))
        for mode in (True, False):
            with torch.no_grad():
                outputs = net.train(mode)(x)
            assert outputs.shape == (2, 7)
            assert outputs.isfinite().all()
            assert not torch.equal(outputs[0], outputs[1])

    def test_its_outline_has_the_names_and_shapes_without_numbers(self, kind):
        network, built = Network.parse(kind), build(kind)
        outline = network.outline(network.shape, 7)
        assert {name: (t.shape, t.dtype) for name, t in outline.state_dict().items()} == {
            name: (t.shape, t.dtype) for name, t in built.state_dict().items()
        }
        assert all(parameter.is_meta for parameter in outline.parameters())

    def test_has_weights_to_prune(self, kind):
        weights = find_prunable(build(kind))
        assert weights
        assert all(weight.count_nonzero() for weight in weights.values())

    def test_survives_json(self, kind):
        network = Network.parse(kind)
        assert Network.parse(json.loads(json.dumps(network.settings()))) == network

    def test_says_what_it_is(self, kind):
        cls = find_class(Network, Network.parse(kind).kind())
        assert cls.__doc__
        assert any(paper in cls.__doc__ for paper in ("redman2025", "lufkin2024", "bar2023"))
        assert read_summary("networks", kind)
