"""The pruned networks behind Tables 1 to 4 of bar2023: their data, sizes, pruning rules and seeds."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from prunefield.networks import Network
from prunefield.networks.lenet import Lenet
from prunefield.networks.resnet import Resnet
from prunefield.networks.vgg import Vgg
from prunefield.papers import Scale
from prunefield.runs.pruned import Pruned
from prunefield.runs.tickets import Tickets, count_examples
from prunefield.scores.grasp import Grasp
from prunefield.scores.magnitude import Magnitude
from prunefield.scores.random import Random
from prunefield.scores.snip import Snip
from prunefield.scores.synflow import Synflow
from prunefield.tasks import Task
from prunefield.tasks.cifar10 import Cifar10
from prunefield.tasks.cifar100 import Cifar100
from prunefield.tasks.fashion_mnist import FashionMnist
from prunefield.tasks.leaves import Leaves
from prunefield.tasks.noise import Noise
from prunefield.tasks.tiny_imagenet import TinyImagenet
from prunefield.training.recipe import Recipe

SYNFLOW, CHI, SNIP, GRASP = {"score": Synflow(), "inputs": "ones"}, Synflow(inputs="batch"), Snip(), Grasp()
DRAWN = {"sample": "last"}
COLUMNS: dict[str, dict[str, Any]] = {
    "SynFlow": SYNFLOW,
    "SynFlow + chi": {"score": CHI, "inputs": "chi"},
    "SynFlow + rand": SYNFLOW | {"sample": "every"},
    "SynFlow + rand + chi": {"score": CHI, "inputs": "chi", "sample": "every"},
    "SNIP + normal": {"score": SNIP, "inputs": "normal"},
    "SNIP + normal + rand": {"score": SNIP, "inputs": "normal"} | DRAWN,
    "SNIP + sparse": {"score": SNIP, "inputs": "sparse"},
    "SNIP + sparse + rand": {"score": SNIP, "inputs": "sparse"} | DRAWN,
    "SNIP (supervised)": {"score": SNIP, "inputs": None},
    "GraSP (supervised)": {"score": GRASP, "inputs": None},
    "GraSP + normal": {"score": GRASP, "inputs": "normal"},
    "GraSP + normal + rand": {"score": GRASP, "inputs": "normal", "reduce": "positive"} | DRAWN,
    "Random": {"score": Random()},
    "Magnitude": {"score": Magnitude()},
    "IMP (supervised)": {},
    "IMP + random data": {},
    "IMP + random data + rand": DRAWN,
}


@dataclass(frozen=True)
class Setting:
    """A network on a data set: the rows of a table that belong together."""

    data: str
    name: str
    task: Task
    net: Network
    recipe: Recipe
    densities: tuple[float, ...]
    seeds: int
    iterations: int = 100  # of SynFlow
    levels: int | None = None  # of IMP; none: 20 % of what remains in each, or a little less
    rewind: int = 0
    images: int = 10_000
    held_out: int = 10_000

    def runs(self, column: str) -> Iterator[Pruned]:
        """All densities and seeds of a column."""
        base = {"task": self.task, "images": self.images, "net": self.net, "held_out": self.held_out}
        for density in self.densities:
            for seed in range(self.seeds):
                how = dict(COLUMNS[column])
                if column.startswith("IMP"):
                    how["of"] = self._tickets("random" in column, density, seed, base)
                elif column.startswith("SynFlow"):
                    how["iterations"] = self.iterations
                yield Pruned.model_validate(base | {"recipe": self.recipe, "density": density, "seed": seed} | how)

    def _tickets(self, noise: bool, density: float, seed: int, base: dict[str, Any]) -> Tickets:
        levels = self.levels or math.ceil(math.log(density) / math.log(0.8))
        images = count_examples(self.task, self.images)
        task = Noise(of=self.task, images=images, seed=seed) if noise else self.task
        recipe = self.recipe.model_copy(update={"pad": 0, "flip": False}) if noise else self.recipe
        place = {"task": task, "recipe": recipe, "density": density, "seed": seed, "held_out": min(1000, images)}
        return Tickets.model_validate(base | place | {"levels": levels, "rewind": self.rewind})


RESNET8, LENET = Resnet(width=8, stages=(1, 1, 1)), Lenet(width=100)
SMALL = {"densities": (0.05,), "seeds": 8, "levels": 3, "rewind": 20, "held_out": 4_000}
CIFAR = {"data": "CIFAR-10", "task": Cifar10(limit=4_000, standardise="channel"), "recipe": Recipe(epochs=4)}
CLOTHES = FashionMnist(limit=12_000, standardise="channel")
STREAM = Leaves(side=16, count=25, margin=4, largest=6, categories=4)
TOY = {"data": "leaves", "task": STREAM, "images": 256, "recipe": Recipe(epochs=1, batch_size=64), "densities": (0.2,)}
TOY |= {"seeds": 2, "iterations": 10, "levels": 2, "rewind": 1, "held_out": 200}


def resnet(width: int, *stages: int) -> Network:
    """A residual network."""
    return Resnet(width=width, stages=stages)


def _paper(data: str, task: Task, name: str, net: Network, rewind: int = 0) -> Setting:
    return Setting(data, name, task, net, Recipe(), (0.1, 0.05, 0.02), 3, rewind=rewind)


VGG19, RESNET20 = Vgg(width=64), Resnet(width=16)
TEN, HUNDRED = Cifar10(standardise="channel"), Cifar100(standardise="channel")
TINY = TinyImagenet(standardise="channel")
SETTINGS: dict[Scale, tuple[Setting, ...]] = {
    "smoke": (Setting(name="ResNet-8, width 4", net=resnet(4, 1, 1, 1), **TOY),),
    "laptop": (
        Setting(name="ResNet-8, width 8", net=RESNET8, **CIFAR, **SMALL),
        Setting("Fashion-MNIST", "LeNet-300-100", CLOTHES, LENET, Recipe(epochs=5, lr=0.02, pad=0, flip=False),
                (0.1, 0.05, 0.02), 8, levels=3, held_out=10_000),
    ),
    "paper": (
        _paper("CIFAR-10", TEN, "VGG-19", VGG19, 1000),
        _paper("CIFAR-10", TEN, "ResNet-20", RESNET20, 2000),
        _paper("CIFAR-100", HUNDRED, "VGG-19", VGG19, 1000),
        _paper("CIFAR-100", HUNDRED, "ResNet-20", RESNET20, 6000),
    ),
}  # fmt: skip
TINY_SETTINGS: dict[Scale, tuple[Setting, ...]] = {
    "smoke": (*SETTINGS["smoke"], Setting(name="ResNet-8, width 8", net=RESNET8, **TOY)),
    "laptop": (
        Setting(name="ResNet-10, width 8", net=resnet(8, 1, 1, 1, 1), **CIFAR, **SMALL),
        Setting(name="ResNet-10, width 16", net=resnet(16, 1, 1, 1, 1), **CIFAR, **SMALL),
    ),
    "paper": (
        _paper("Tiny-ImageNet", TINY, "ResNet-18", resnet(64, 2, 2, 2, 2)),
        _paper("Tiny-ImageNet", TINY, "truly wide ResNet-18", resnet(128, 2, 2, 2, 2)),
    ),
}


def places(columns: tuple[str, ...], *, tiny: bool = False) -> dict[Pruned, tuple[Setting, str]]:
    """Every run of some columns, at all scales, with where in the table it belongs."""
    settings = TINY_SETTINGS if tiny else SETTINGS
    found = [(setting, column) for part in settings.values() for setting in part for column in columns]
    return {run: (setting, column) for setting, column in found for run in setting.runs(column)}
