"""The networks that the items of redman2025 share: a scale is an entry of SIZES, a data set one of its `tasks`."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from prunefield.papers import Scale, claim
from prunefield.papers._kit import Row
from prunefield.runs import Record
from prunefield.runs.imp import Imp
from prunefield.tasks import Task
from prunefield.tasks.cifar10 import Cifar10
from prunefield.tasks.clone import Clone
from prunefield.tasks.imagenet32 import Imagenet32
from prunefield.tasks.leaves import Leaves
from prunefield.tasks.photos import Photos


@dataclass(frozen=True)
class Size:
    """All that the items compute differently at different scales."""

    tasks: dict[str, Task]  # the data sets
    net: dict[str, Any]  # settings of `imp`
    top: int  # the most connected units, whose widths are averaged
    per_class: int  # held-out images of each class
    cavity: dict[str, int]  # the same for cavity scores, whose signs need many; a stream has as many as one wants
    samples: int  # images for ICA and PCA
    varied: dict[str, tuple[int, ...]]  # the settings that `reuse` changes, one at a time
    components: int = 64
    scored: int = 500  # training images of each class that greedy pruning scores with
    parts: int = 2  # its scorings in a round: 20 in all
    seeds: int = 3
    control_seeds: int = 3  # of clones and of greedy pruning

    def imp(self, task: Task, seed: int = 0) -> Imp:
        """The pruning run on a task."""
        return Imp(task=task, seed=seed, **self.net)


# Localisation needs the training to outrun the initialisation, so short trainings begin with small weights.
SHORT = {"batch_norm": False, "init": "glorot-uniform", "init_scale": 0.2}
SIZES: dict[Scale, Size] = {
    "smoke": Size(
        tasks={"leaves": Leaves(side=16, count=25, margin=4, largest=6), "images": Photos(side=16, rows=2, columns=3)},
        net={"hidden": (64, 64), "steps": 800, "rewind": 50, "rounds": 5, "fraction": 0.45, "held_out": 500, **SHORT},
        top=20,
        per_class=100,
        cavity={"leaves": 100, "images": 100},
        samples=2_000,
        varied={"images": (1_000, 200), "steps": (200,)},
        components=16,
        scored=400,
        parts=4,
        seeds=2,
        control_seeds=1,
    ),
    "laptop": Size(
        tasks={"leaves": Leaves(), "images": Cifar10()},
        net={"hidden": (256, 256), "steps": 5_000, "rewind": 200, **SHORT},
        top=40,
        per_class=500,
        cavity={"leaves": 2_000, "images": 1_000},
        samples=10_000,
        varied={
            "images": (50_000, 10_000, 1_000),
            "classes": (2, 40),
            "steps": (1_250, 2_500),
            "width": (64, 128),
            "labels": (10_000,),
        },
    ),
    "paper": Size(
        tasks={"leaves": Leaves(), "images": Imagenet32()},
        net={},
        top=120,
        per_class=50,  # all that ImageNet32 has
        cavity={"leaves": 2_000, "images": 50},
        samples=50_000,
        varied={"images": (100_000, 10_000), "classes": (2, 100), "steps": (10_000,), "width": (256,)},
        scored=50,
    ),
}
SCALES: tuple[Scale, ...] = tuple(SIZES)
KINDS = {type(task): data for size in SIZES.values() for data, task in size.tasks.items()}
DATA = tuple(dict.fromkeys(KINDS.values()))
PER_DATA = {"data": DATA}
# For claims about trained networks: two seeds of 64 units, trained for 800 steps on small leaves or on crops of two
# photographs, are not enough to decide them either way.
claim_on_nets = partial(claim, decided_at="laptop", per=PER_DATA)


def list_sizes(show: Callable[[Size], object]) -> str:
    """A setting at each scale, for the choices of items."""
    return ", ".join(f"{show(size)} ({scale})" for scale, size in SIZES.items())


SHARED_CHOICES = (
    "Images: the paper uses ImageNet32. Here every item is run on each of these, with its own verdicts: `leaves`, an "
    "endless stream of dead leaves in ten classes, and `images`, natural images: crops of two photographs at "
    "smoke scale, CIFAR-10 at laptop scale, ImageNet32 at paper scale.",
    "smoke and laptop: small nets without batch norm, initial weights 0.2 × uniform Glorot, since localisation "
    "requires that training moves the weights far from their initial values; paper: 1024:1024, batch norm on every "
    "input, Glorot normal.",
    "Threshold: one per hidden layer, weights and biases ranked together; the output layer is not pruned. Later "
    "rounds take all T steps again (Sec. 2.1 says T − rewind; see the setting `retrain`).",
)
CLONE_SEEDS = f"Seeds of the clones, fewer at smoke scale to save time: {list_sizes(lambda size: size.control_seeds)}."
MOST_CONNECTED = list_sizes(lambda size: f"{size.top} of {size.imp(Leaves()).hidden[0]}")
HELD_OUT = f"held-out images per class: {list_sizes(lambda size: size.per_class)}"


def nets(scale: Scale, *data: str, clone: bool = False) -> tuple[Imp, ...]:
    """The pruning runs of all seeds on the named data sets, or on all; or on their Gaussian clones (Sec. 3.1)."""
    size = SIZES[scale]
    tasks = [size.tasks[name] for name in data or size.tasks]
    seeds = range(size.control_seeds if clone else size.seeds)
    return tuple(size.imp(Clone(of=task) if clone else task, seed) for task in tasks for seed in seeds)


def full_clones(scale: Scale) -> tuple[Imp, ...]:
    """Runs on a clone that is fitted to more images than an image has pixels: small leaves at every scale, to save
    time.
    """
    small = SIZES["smoke"]
    task = Clone(of=small.tasks["leaves"], per_class=2_000)
    return tuple(small.imp(task, seed) for seed in range(min(2, SIZES[scale].control_seeds)))


def data_of(task: Task) -> str:
    """The data set that a task is, or is the clone of."""
    return KINDS[type(task.of if isinstance(task, Clone) else task)]


def inputs_of(task: Task) -> str:
    """Whether a net sees the data, their clone or the clone of `full_clones`."""
    if not isinstance(task, Clone):
        return "data"
    return "clone" if task.per_class == Clone().per_class else "full clone"


def make_row(imp: Imp, record: Record, *names: str, **renamed: str) -> Row:
    """A row of a table: data set, seed and the named values of a record, some of them under another name."""
    values = {name: record[name] for name in names} | {name: record[key] for name, key in renamed.items()}
    return {"data": data_of(imp.task), "seed": imp.seed, **values}
