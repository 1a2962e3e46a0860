"""The pruned networks behind Tables 1 to 4 of bar2023 at each scale: their data, sizes and seeds."""

from prunefield.networks import Network
from prunefield.networks.resnet import Resnet
from prunefield.networks.vgg import Vgg
from prunefield.papers import Scale
from prunefield.papers.bar2023._columns import TableSetting
from prunefield.papers.bar2023._night import NIGHT, TINY_NIGHT
from prunefield.runs.pruned import Pruned
from prunefield.tasks import Task
from prunefield.tasks.cifar10 import Cifar10
from prunefield.tasks.cifar100 import Cifar100
from prunefield.tasks.leaves import Leaves
from prunefield.tasks.tiny_imagenet import TinyImagenet
from prunefield.training.recipe import Recipe

STREAM = Leaves(side=16, count=25, margin=4, largest=6, categories=4)
TOY = {"data": "leaves", "task": STREAM, "images": 256, "recipe": Recipe(epochs=1, batch_size=64), "densities": (0.2,)}
TOY |= {"seeds": 2, "iterations": 10, "levels": 2, "rewind": 1, "held_out": 200, "stands_for": 0.02}


def resnet(width: int, *stages: int) -> Network:
    """A residual network."""
    return Resnet(width=width, stages=stages)


def _paper(data: str, task: Task, name: str, net: Network, least: float, rewind: int = 0) -> TableSetting:
    return TableSetting(data, name, task, net, Recipe(), (0.1, 0.05, 0.02), 3, rewind=rewind, family=name, least=least)


VGG19, RESNET20 = Vgg(width=64), Resnet(width=16)
TEN, HUNDRED = Cifar10(standardise="channel"), Cifar100(standardise="channel")
TINY = TinyImagenet(standardise="channel")
SMOKE = TableSetting(name="ResNet-8, width 4, 20% kept", net=resnet(4, 1, 1, 1), **TOY)
SETTINGS: dict[Scale, tuple[TableSetting, ...]] = {
    "smoke": (SMOKE,),
    "night": NIGHT,
    "paper": (
        _paper("CIFAR-10", TEN, "VGG-19", VGG19, 85, 1000),
        _paper("CIFAR-10", TEN, "ResNet-20", RESNET20, 85, 2000),
        _paper("CIFAR-100", HUNDRED, "VGG-19", VGG19, 55, 1000),
        _paper("CIFAR-100", HUNDRED, "ResNet-20", RESNET20, 55, 6000),
    ),
}
TINY_SETTINGS: dict[Scale, tuple[TableSetting, ...]] = {
    "smoke": (SMOKE,),
    "night": TINY_NIGHT,
    "paper": (
        _paper("Tiny ImageNet", TINY, "ResNet-18", resnet(64, 2, 2, 2, 2), 50),
        _paper("Tiny ImageNet", TINY, "truly wide ResNet-18", resnet(128, 2, 2, 2, 2), 50),
    ),
}


def places(columns: tuple[str, ...], *, tiny: bool = False) -> dict[Pruned, tuple[TableSetting, str]]:
    """Every run of some columns, at all scales, with where in the table it belongs."""
    settings = TINY_SETTINGS if tiny else SETTINGS
    found = [(setting, column) for part in settings.values() for setting in part for column in columns]
    return {run: (setting, column) for setting, column in found for run in setting.runs(column)}
