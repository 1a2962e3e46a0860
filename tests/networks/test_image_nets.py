"""The networks of bar2023: the parameter counts of the fact sheet, initial weights, and bad settings."""

import math

import pytest
import torch

from prunefield.core.errors import UsageError
from prunefield.masks.mask import count_kept
from prunefield.networks import Network
from prunefield.networks.resnet import Resnet
from prunefield.networks.vgg import Vgg
from prunefield.scores import find_prunable

CIFAR, TINY = (3, 32, 32), (3, 64, 64)
TABLE = [  # network, shape, classes; layers, prunable, total, kept at 10, 5 and 2%
    ("vgg19", CIFAR, 10, 17, 20_024_000, 20_040_522, (2_002_400, 1_001_200, 400_480)),
    ("vgg19", CIFAR, 100, 17, 20_070_080, 20_086_692, (2_007_008, 1_003_504, 401_402)),
    ("resnet20", CIFAR, 10, 22, 270_896, 272_474, (27_090, 13_545, 5_418)),
    ("resnet20", CIFAR, 100, 22, 276_656, 278_324, (27_666, 13_833, 5_534)),
    ({"kind": "resnet20", "width": 32}, CIFAR, 10, 22, 1_081_440, 1_084_586, (108_144, 54_072, 21_629)),
    ({"kind": "resnet20", "width": 32}, CIFAR, 100, 22, 1_092_960, 1_096_196, (109_296, 54_648, 21_860)),
    ("resnet18", TINY, 200, 21, 11_261_632, 11_271_432, (1_126_164, 563_082, 225_233)),
    ({"kind": "resnet18", "width": 128}, TINY, 200, 21, 44_838_272, 44_857_672, (4_483_828, 2_241_914, 896_766)),
    ("lenet-300-100", (1, 28, 28), 10, 3, 266_200, 266_610, (26_620, 13_310, 5_324)),
]


@pytest.mark.parametrize("row", TABLE)
def test_parameter_counts(row):
    network, shape, classes, layers, weights, total, kept = row
    net = Network.parse(network).outline(shape, classes)
    sizes = [weight.numel() for weight in find_prunable(net).values()]
    assert (len(sizes), sum(sizes)) == (layers, weights)
    assert sum(parameter.numel() for parameter in net.parameters()) == total
    assert tuple(count_kept(weights, density) for density in (0.1, 0.05, 0.02)) == kept


@pytest.mark.parametrize("network", [Vgg(width=4, stages=(1, 1, 1)), Resnet(width=4, stages=(1, 1))])
def test_normalisations_are_the_identity_at_first(network):
    for part in network.build((3, 8, 8), 7, generator=torch.Generator()).modules():
        if isinstance(part, torch.nn.BatchNorm2d):
            x = torch.randn(2, part.num_features, 3, 3)
            assert torch.allclose(part.eval()(x), x, rtol=1e-4)


def test_initial_weights_have_the_variance_of_kaiming():
    net = Resnet(width=64, stages=(1, 1)).build((3, 8, 8), 10, generator=torch.Generator().manual_seed(0))
    for weight in find_prunable(net).values():
        expected = math.sqrt(2 / weight[0].numel())
        assert abs(float(weight.detach().std()) / expected - 1) < 4 / math.sqrt(2 * weight.numel())


def test_a_residual_block_without_its_main_path_is_its_shortcut():
    net = Resnet(width=4, stages=(1,)).build((3, 6, 6), 3, generator=torch.Generator().manual_seed(0))
    net.eval()
    torch.nn.init.zeros_(net.get_parameter("blocks.0.main.2.0.weight"))
    x = torch.randn(2, 3, 6, 6, generator=torch.Generator().manual_seed(1))
    stem = torch.relu(net.get_submodule("stem")(x))
    assert torch.allclose(net(x), net.get_submodule("head")(stem.mean((2, 3))), atol=1e-6)


def test_bad_settings_are_refused():
    with pytest.raises(UsageError, match="did you mean 'resnet20'"):
        Network.parse("resnet21")
    with pytest.raises(UsageError, match="unknown key 'stages'"):
        Network.parse({"kind": "lenet", "stages": [1]})
    with pytest.raises(UsageError, match=r"vgg takes images of three axes, channels first, not of shape \(40,\)"):
        Vgg(width=3).outline((40,), 2)
