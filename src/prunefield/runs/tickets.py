"""Iterative magnitude pruning with rewinding of the networks of bar2023, to an exact density."""

from collections.abc import Callable, Iterator, Mapping

from pydantic import Field, model_validator
from torch import Tensor, nn

from prunefield.core import seeds
from prunefield.core.errors import UsageError
from prunefield.masks.mask import Mask
from prunefield.masks.selection import Scope
from prunefield.networks import Network
from prunefield.pruning.schedules import plan_densities
from prunefield.runs import Record, Run, State
from prunefield.runs._cost import estimate_pass
from prunefield.runs._cost import estimate_training as train_seconds
from prunefield.runs._rewinding import Rewinding, pack_mask
from prunefield.scores import find_prunable
from prunefield.tasks import Task, is_finite
from prunefield.training.examples import TrainingExamples, hold_out
from prunefield.training.recipe import Recipe
from prunefield.training.steps import measure_accuracy


class Tickets(Run):
    """Train, prune by |w|, rewind, repeat: IMP of bar2023, Sec. 8, on any data; random data is the task `noise`.

    Level l = 0, …, L − 1 trains θ(rewind)⊙m_l and prunes it to the density ρ^{(l+1)/L} of the weights of linear and
    convolution layers, so that level L has exactly ρ; the head may have its own density (Fig. 2). Record l holds m_l,
    packed (`mask:…`), and the accuracy after training with it; record L only its mask, the weights that were pruned to
    it (`trained:…`) and θ(rewind) (`start:…`). Record 0 also holds the initial weights (`first:…`).
    """

    task: Task = Field(description="where the images come from")
    images: int = Field(default=10_000, ge=2, description="number of images, for a task that can generate any number")
    net: Network = Field(description="the network")
    recipe: Recipe = Field(description="the training recipe of each level")
    density: float = Field(gt=0, lt=1, description="ρ, the fraction kept after the last level")
    levels: int = Field(ge=1, description="L, the number of train-and-prune levels")
    head: float | None = Field(
        default=None,
        gt=0,
        le=1,
        description="density of the last layer after the last level; by default the same as the others",
    )
    scope: Scope = Field(default="global", description="how the kept weights are allocated to layers")
    rewind: int = Field(default=0, ge=0, description="step of level 0 to whose weights all levels rewind")
    held_out: int = Field(default=2_000, ge=1, description="number of images for each accuracy")
    seed: int = Field(default=0, ge=0, description="seed of the weights and images")

    @model_validator(mode="after")
    def _check_rewind(self) -> "Tickets":
        if self.rewind and not is_finite(self.task) and self.rewind >= self.recipe.steps(self.images):
            raise UsageError(f"rewind ({self.rewind}) must be less than the steps ({self.recipe.steps(self.images)})")
        return self

    def seconds(self) -> float:
        shape, classes = self.task.shape, self.task.classes
        each = train_seconds(self.net, shape, classes, self.recipe, count_examples(self.task, self.images))
        return 0.5 + self.levels * (each + self.held_out * estimate_pass(self.net, shape, classes) / 3)

    def __call__(self, state: State) -> Iterator[Record | None]:
        examples, test = (
            TrainingExamples.of(self.task, self.images, self.seed),
            hold_out(self.task, self.held_out, self.seed),
        )
        total, place = self.recipe.steps(len(examples.y)), state.values
        if self.rewind and self.rewind >= total:
            raise UsageError(f"rewind ({self.rewind}) must be less than the steps ({total})")
        shapes = {name: tuple(weight.shape) for name, weight in find_prunable(self.build()).items()}
        imp = Rewinding(state, self.build, shapes, "level", self.levels, total, self.rewind)
        net, rewound = imp.net, imp.rewound

        def keep(name: str, start: Callable[[], Tensor]) -> Tensor:
            return state.tensor(f"optimiser:{name}", start)

        def train_level(level: int) -> Iterator[int]:
            start = place.setdefault("step", 0 if level == 0 else self.rewind)
            how = {"mask": imp.mask, "keep": keep, "seed": self.seed, "names": ("level", level), "start": start}
            return (step for step, _ in self.recipe.train(net, examples, **how))

        def describe_level(level: int) -> Record:
            reached = measure_accuracy(net, test) if level < self.levels else None
            record = Record({"level": level, "density": imp.mask.density, "accuracy": reached}, pack_mask(imp.mask))
            if level == 0:
                record.tensors.update(_copy("first", find_prunable(self.build())))
            if level == self.levels:
                record.tensors.update(_copy("trained", find_prunable(net)) | _copy("start", rewound.state_dict()))
            return record

        def restart(level: int) -> None:
            for name, buffer in state.tensors.items():
                if name.startswith("optimiser:"):
                    buffer.zero_()  # the next level begins without momentum
            if level + 1 < self.levels:
                net.load_state_dict(rewound.state_dict())
            place.pop("step")

        yield from imp.iterate(train_level, describe_level, lambda level: self._prune(net, imp.mask, level), restart)

    def build(self) -> nn.Module:
        """The network with its initial weights."""
        stream = seeds.generator(self.seed, "init")
        return self.net.build(self.task.shape, self.task.classes, generator=stream)

    def _prune(self, net: nn.Module, mask: Mask, level: int) -> Mask:
        """The mask of the next level."""
        scores = {name: weight.detach().abs() for name, weight in find_prunable(net).items()}
        heads = [] if self.head is None else list(scores)[-1:]
        groups = [(heads, self.head), ([name for name in scores if name not in heads], self.density)]
        kept: dict = {}
        for names, density in groups:
            if names and density is not None:
                part = {name: scores[name] for name in names}
                within = Mask({name: mask[name] for name in names})
                kept |= Mask.keep(part, plan_densities(density, self.levels)[level], scope=self.scope, start=within)
        return Mask({name: kept[name] for name in scores})


def _copy(what: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Copies of tensors for a record."""
    return {f"{what}:{name}": item.detach().cpu().clone() for name, item in tensors.items()}


def count_examples(task: Task, images: int) -> int:
    """The number of training examples, without reading any.

    >>> from prunefield.tasks.tiny_imagenet import TinyImagenet
    >>> count_examples(TinyImagenet(categories=20), 1)
    10000
    """
    return task.count() if is_finite(task) else images
