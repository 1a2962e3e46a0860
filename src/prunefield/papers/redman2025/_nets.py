"""The networks that the items of redman2025 share: their data, sizes and seeds."""

from typing import Literal, get_args

from prunefield.papers import Scale
from prunefield.runs.imp import Imp
from prunefield.tasks import Task
from prunefield.tasks.cifar10 import Cifar10
from prunefield.tasks.clone import Clone
from prunefield.tasks.imagenet32 import Imagenet32
from prunefield.tasks.leaves import Leaves
from prunefield.tasks.photos import Photos

Data = Literal["leaves", "images"]
DATA: tuple[Data, ...] = get_args(Data)
TOP = {"smoke": 20, "laptop": 40, "paper": 120}  # the most connected units, of 64, 256 and 1024
PER_CLASS = {"smoke": 100, "laptop": 500, "paper": 50}  # held-out images of each class; ImageNet32 has 50

# Localisation needs the training to outrun the initialisation, so short trainings begin with small weights.
SHORT = {"batch_norm": False, "init": "glorot-uniform", "init_scale": 0.2}
SMOKE = {"hidden": (64, 64), "steps": 800, "rewind": 50, "rounds": 5, "fraction": 0.45, "held_out": 500, **SHORT}
LAPTOP = {"hidden": (256, 256), "steps": 5_000, "rewind": 200, **SHORT}
SIZES: dict[Scale, dict] = {"smoke": SMOKE, "laptop": LAPTOP, "paper": {}}

TASKS: dict[tuple[Scale, Data], Task] = {
    ("smoke", "leaves"): Leaves(side=16, count=25, margin=4, largest=6),
    ("smoke", "images"): Photos(side=16, rows=2, columns=3),
    ("laptop", "leaves"): Leaves(),
    ("laptop", "images"): Cifar10(),
    ("paper", "leaves"): Leaves(),
    ("paper", "images"): Imagenet32(),
}
SHARED_CHOICES = (
    "Images: the paper uses ImageNet32. Here every item is run twice, each time with its own verdicts: on `leaves`, "
    "an endless stream of dead leaves in ten classes, and on `images`, natural images: crops of two photographs at "
    "smoke scale, CIFAR-10 at laptop scale, ImageNet32 at paper scale.",
    "smoke and laptop: small nets without batch norm, initial weights 0.2 × uniform Glorot, since localisation "
    "requires that training moves the weights far from their initial values; paper: 1024:1024, batch norm on every "
    "input, Glorot normal.",
    "Threshold: one per hidden layer, weights and biases ranked together; the output layer is not pruned. Later "
    "rounds take all T steps again (Sec. 2.1 says T − rewind; see the setting `retrain`).",
)
CLONE_SEEDS = "Seeds of the clones: one at smoke scale, to save time, where the data have two; three otherwise."


def nets(scale: Scale, data: Data, *, clone: bool = False) -> tuple[Imp, ...]:
    """The pruning runs of all seeds on a data set, or on its Gaussian clone (Sec. 3.1)."""
    task = TASKS[scale, data]
    task = Clone(of=task) if clone else task
    count = 3 if scale != "smoke" else 1 if clone else 2
    return tuple(Imp(task=task, seed=seed, **SIZES[scale]) for seed in range(count))


def full_clones(scale: Scale) -> tuple[Imp, ...]:
    """Runs on a clone that is fitted to more images than an image has pixels: small leaves at every scale, to save
    time.
    """
    task = Clone(of=TASKS["smoke", "leaves"], per_class=2_000)
    return tuple(Imp(task=task, seed=seed, **SMOKE) for seed in range(1 if scale == "smoke" else 2))


def data_of(imp: Imp) -> Data:
    """Which of the two data sets a run of `nets` uses."""
    task = imp.task.of if isinstance(imp.task, Clone) else imp.task
    return "leaves" if isinstance(task, Leaves) else "images"
