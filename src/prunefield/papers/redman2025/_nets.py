"""The networks that the items of redman2025 share: a scale is an entry of SIZES, with one setting for each data set."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from prunefield.papers import Check, Claims, Frame, Scale, Verdict, claim
from prunefield.papers._kit import Row
from prunefield.runs import Record
from prunefield.runs.greedy import Greedy
from prunefield.runs.imp import Imp
from prunefield.runs.kurtosis import Kurtosis
from prunefield.runs.widths import Widths
from prunefield.tasks import Task
from prunefield.tasks.cifar10 import Cifar10
from prunefield.tasks.clone import Clone
from prunefield.tasks.imagenet32 import Imagenet32
from prunefield.tasks.leaves import Leaves
from prunefield.tasks.photos import Photos
from prunefield.tasks.tiny_imagenet import TinyImagenet


@dataclass(frozen=True)
class DataSetting:
    """A data set at a scale: the net that is pruned on it, and how it is measured."""

    task: Task
    net: Mapping[str, Any]  # settings of `imp`
    top: int  # the most connected units, whose widths are averaged
    per_class: int  # held-out images of each class
    cavity: int  # the same for cavity scores, whose signs need many; a stream has as many as one wants
    samples: int  # images for ICA and PCA
    components: int = 64
    scored: int = 500  # training images of each class that greedy pruning scores with
    parts: int = 2  # its scorings in a round: 20 in all
    seeds: int = 3
    clone_seeds: int = 3
    greedy_seeds: tuple[int, ...] = (0, 1, 2)

    def imp(self, seed: int = 0, *, task: Task | None = None) -> Imp:
        """The pruning run, or the same on another task."""
        return Imp(task=task or self.task, seed=seed, **self.net)


# Localisation needs the training to outrun the initialisation, so short trainings begin with small weights.
SHORT = {"batch_norm": False, "init": "glorot-uniform", "init_scale": 0.2}
SMOKE = partial(
    DataSetting,
    net={"hidden": (64, 64), "steps": 500, "rewind": 30, "rounds": 5, "fraction": 0.45, "held_out": 500, **SHORT},
    top=20,
    per_class=100,
    cavity=100,
    samples=2_000,
    components=16,
    scored=400,
    parts=4,
    seeds=2,
    clone_seeds=1,
    greedy_seeds=(0,),
)
LAPTOP = partial(
    DataSetting,
    net={"hidden": (256, 256), "steps": 5_000, "rewind": 200, **SHORT},
    top=40,
    per_class=500,
    samples=10_000,
)
CROPS = partial(  # crops of Tiny ImageNet, which has 50 held-out images of each class
    DataSetting,
    task=TinyImagenet(side=32, crops=True),
    top=120,
    per_class=50,
    cavity=50,
    samples=10_000,
    scored=50,
    clone_seeds=1,
    greedy_seeds=(0,),
)
FEW = {"hidden": (256, 256), "steps": 2_500, "rewind": 62}  # so that a round sees an image of CIFAR-10 only twice
QUARTER = {"steps": 10_000, "rewind": 250}  # of the paper's length
PAPER = partial(DataSetting, net={}, top=120, per_class=50, samples=50_000, scored=50)
SIZES: dict[Scale, dict[str, DataSetting]] = {
    "smoke": {
        "leaves": SMOKE(task=Leaves(side=16, count=25, margin=4, largest=6)),
        "images": SMOKE(task=Photos(side=16, rows=2, columns=3)),
    },
    "laptop": {
        "leaves": LAPTOP(task=Leaves(), cavity=2_000),
        "images": LAPTOP(task=Cifar10(), cavity=1_000, net=FEW),
        "tiny-imagenet": CROPS(net=QUARTER),
    },
    "night": {
        "tiny-imagenet": CROPS(net={}, scored=250, greedy_seeds=(2,)),  # of seeds 0 and 1 only values were kept
        "leaves": PAPER(
            task=Leaves(),
            per_class=500,
            cavity=500,
            samples=10_000,
            scored=500,
            seeds=1,
            clone_seeds=0,
            greedy_seeds=(0,),
        ),
    },
    "paper": {"leaves": PAPER(task=Leaves(), cavity=2_000), "images": PAPER(task=Imagenet32(), cavity=50)},
}
SCALES: tuple[Scale, ...] = tuple(SIZES)
KINDS = {type(setting.task): data for size in SIZES.values() for data, setting in size.items()}
DATA = tuple(dict.fromkeys(KINDS.values()))
PER_DATA = {"data": DATA}


def claim_on_nets(*words: str, **options: Any) -> Callable[[Check], Claims]:
    """A claim about trained networks, by default one for each data set; with one seed only, its verdict says so.

    Two seeds of 64 units, trained for 500 steps on small leaves or on crops of two photographs, are not enough to
    decide it either way, so it is decided from laptop scale on.
    """

    def collect(check: Check) -> Claims:
        def judge_seeds(table: Frame, **case: Any) -> Verdict:
            verdict = check(table, **case)
            few = "one seed" if table["seed"].nunique() == 1 else ""
            return replace(verdict, note="; ".join(filter(None, (verdict.note, few))))

        return claim(*words, **{"decided_at": "laptop", "per": PER_DATA, **options})(judge_seeds)

    return collect


def list_sizes(show: Callable[[DataSetting], object]) -> str:
    """A setting at each scale, for the choices of items."""
    found = {scale: dict.fromkeys(str(show(setting)) for setting in size.values()) for scale, size in SIZES.items()}
    return ", ".join(f"{' or '.join(values)} ({scale})" for scale, values in found.items())


SHARED_CHOICES = (
    "Images: the paper uses ImageNet32. Here every item is run on several kinds of images, with its own verdicts on "
    "each: `leaves`, an endless stream of dead leaves in ten classes; `images`, natural images: crops of two "
    "photographs at smoke scale, CIFAR-10 at laptop scale, ImageNet32 at paper scale; and `tiny-imagenet` (laptop "
    "and night scale), an endless stream of crops of ImageNet's photographs in 200 classes.",
    "Nets: the paper's, 1024:1024 with batch norm on every input and Glorot normal weights, on `tiny-imagenet` (a "
    "quarter of its 40,000 steps at laptop scale) and at night and paper scale; on CIFAR-10 the same with 256:256 and "
    "2,500 steps, as IMP loses its lead where images are seen more often (`conditions`; chosen after that row, which "
    "has the first of the three seeds here). Elsewhere small nets without batch norm, initial weights 0.2 × uniform "
    "Glorot, since localisation requires that training moves the weights far from their initial values.",
    "Threshold: one per hidden layer, weights and biases ranked together; the output layer is not pruned. Later "
    "rounds take all T steps again (Sec. 2.1 says T − rewind; see the setting `retrain`).",
)
CLONE_SEEDS = f"Seeds of the clones, fewer where they take long: {list_sizes(lambda setting: setting.clone_seeds)}."
MOST_CONNECTED = list_sizes(lambda setting: f"{setting.top} of {setting.imp().hidden[0]:,}")
HELD_OUT = f"held-out images per class: {list_sizes(lambda setting: setting.per_class)}"


def nets(scale: Scale, *data: str, clone: bool = False) -> tuple[Imp, ...]:
    """The pruning runs of all seeds on the named data sets, or on all; or on their Gaussian clones (Sec. 3.1)."""
    found = {name: SIZES[scale][name] for name in data or SIZES[scale]}
    if clone:
        return tuple(s.imp(seed, task=Clone(of=s.task)) for s in found.values() for seed in range(s.clone_seeds))
    return tuple(setting.imp(seed) for setting in found.values() for seed in range(setting.seeds))


def list_cloned(scale: Scale) -> list[str]:
    """The data sets of whose clone a net is pruned, too."""
    return [name for name, setting in SIZES[scale].items() if setting.clone_seeds]


def full_clones(scale: Scale, per_class: int = 2_000) -> tuple[Imp, ...]:
    """Runs on clones that are fitted to more images than an image has pixels: at night scale of the crops, elsewhere
    of small leaves, to save time. With `per_class`, the same nets on clones fitted to that number of images.
    """
    setting = SIZES["night"]["tiny-imagenet"] if scale == "night" else SIZES["smoke"]["leaves"]
    task = Clone(of=setting.task, per_class=per_class)
    if scale in ("smoke", "night"):
        return (setting.imp(task=task),)
    longer = replace(setting, net={**setting.net, "steps": 800, "rewind": 50})
    return tuple(longer.imp(seed, task=task) for seed in range(2))


def widths(scale: Scale, imps: Iterable[Imp]) -> list[Widths]:
    """The widths of the masks of pruning runs."""
    return [Widths(of=imp, top=SIZES[scale][data_of(imp.task)].top) for imp in imps]


def kurtoses(scale: Scale, layer: int = 0) -> list[Kurtosis]:
    """The kurtosis of the pre-activations of each net."""
    return [Kurtosis(of=imp, per_class=SIZES[scale][data_of(imp.task)].per_class, layer=layer) for imp in nets(scale)]


def greedy_runs(scale: Scale) -> list[Greedy]:
    """Greedy pruning of nets, for either goal."""
    found = []
    for setting in SIZES[scale].values():
        same = {"per_class": setting.per_class, "top": setting.top, "scored": setting.scored}
        for imp in map(setting.imp, setting.greedy_seeds):
            found += [
                Greedy(of=imp, goal="kurtosis", parts=setting.parts, **same),
                Greedy(of=imp, goal="corrected", **same),
            ]
    return found


def source_of(task: Task) -> Task:
    """The task, or that of which it is the clone."""
    return task.of if isinstance(task, Clone) else task


def data_of(task: Task) -> str:
    """The data set that a task is, or is the clone of."""
    return KINDS[type(source_of(task))]


def inputs_of(task: Task) -> str:
    """Whether a net sees the data, their clone or the clone of `full_clones`."""
    if not isinstance(task, Clone):
        return "data"
    return "clone" if task.per_class == Clone().per_class else "full clone"


def make_row(imp: Imp, record: Record, *names: str, **renamed: str) -> Row:
    """A row of a table: data set, seed and the named values of a record, some of them under another name."""
    values = {name: record[name] for name in names} | {name: record[key] for name, key in renamed.items()}
    return {"data": data_of(imp.task), "seed": imp.seed, **values}
