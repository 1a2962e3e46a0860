"""Iterative magnitude pruning with rewinding of the networks of bar2023, to an exact density."""

from collections.abc import Callable, Iterator

import torch
from pydantic import Field, model_validator
from torch import nn

from prunefield.core import seeds
from prunefield.core.errors import UsageError
from prunefield.masks.mask import Mask, pack
from prunefield.masks.selection import Scope
from prunefield.networks import Network
from prunefield.pruning.schedules import plan_densities
from prunefield.runs import Record, Run, State
from prunefield.runs._cost import passes
from prunefield.runs._cost import train as train_seconds
from prunefield.scores import find_prunable
from prunefield.tasks import Finite, Task
from prunefield.training.examples import Pool, hold_out
from prunefield.training.recipe import Recipe
from prunefield.training.steps import accuracy


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
        if self.rewind and not isinstance(self.task, Finite) and self.rewind >= self.recipe.steps(self.images):
            raise UsageError(f"rewind ({self.rewind}) must be less than the steps ({self.recipe.steps(self.images)})")
        return self

    def seconds(self) -> float:
        shape, classes = self.task.shape, self.task.classes
        each = train_seconds(self.net, shape, classes, self.recipe, count_examples(self.task, self.images))
        return 0.5 + self.levels * (each + self.held_out * passes(self.net, shape, classes) / 3)

    def __call__(self, state: State) -> Iterator[Record | None]:
        net, rewound = self.build(), self.build()
        state.module("net", net)
        state.module("rewound", rewound)
        kept = {
            name: state.tensor(f"mask:{name}", lambda weight=weight: torch.ones(weight.shape, dtype=torch.bool))
            for name, weight in find_prunable(net).items()
        }
        pool, test = Pool.of(self.task, self.images, self.seed), hold_out(self.task, self.held_out, self.seed)
        total, place = self.recipe.steps(len(pool.y)), state.values
        if self.rewind and self.rewind >= total:
            raise UsageError(f"rewind ({self.rewind}) must be less than the steps ({total})")

        def keep(name: str, start: Callable[[], torch.Tensor]) -> torch.Tensor:
            return state.tensor(f"optimiser:{name}", start)

        for level in range(place.setdefault("level", 0), self.levels):
            mask, begin = Mask(kept), place.setdefault("step", 0 if level == 0 else self.rewind)
            how = {"mask": mask, "keep": keep, "seed": self.seed, "names": ("level", level), "start": begin}
            for step, _ in self.recipe.train(net, pool, **how):
                place["step"] = step
                state.done = (level + step / total) / self.levels
                if level == 0 and step == self.rewind:
                    rewound.load_state_dict(net.state_dict())
                yield None
            record = Record({"level": level, "density": mask.density, "accuracy": accuracy(net, test)}, pack_all(mask))
            if level == 0:
                first = find_prunable(self.build())
                record.tensors.update({f"first:{name}": weight.detach().clone() for name, weight in first.items()})
            for name, part in self._prune(net, mask, level).items():
                kept[name].copy_(part)
            for name, buffer in state.tensors.items():
                if name.startswith("optimiser:"):
                    buffer.zero_()  # the next level begins without momentum
            if level + 1 < self.levels:
                net.load_state_dict(rewound.state_dict())
            place.pop("step")
            place["level"] = level + 1
            yield record
        if place["level"] == self.levels:
            place["level"] += 1
            state.done = 1.0
            mask, tensors = Mask(kept), {f"trained:{name}": weight for name, weight in find_prunable(net).items()}
            tensors |= {f"start:{name}": item for name, item in rewound.state_dict().items()}
            plain = {name: item.detach().cpu().clone() for name, item in tensors.items()}
            values = {"level": self.levels, "density": mask.density, "accuracy": None}
            yield Record(values, pack_all(mask) | plain)

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


def pack_all(mask: Mask) -> dict[str, torch.Tensor]:
    """A mask as tensors of a record."""
    return {f"mask:{name}": pack(part) for name, part in mask.items()}


def count_examples(task: Task, images: int) -> int:
    """The number of training examples, without reading any."""
    if not isinstance(task, Finite):
        return images
    return task.limit or getattr(task, "images", SIZES.get(task.kind(), 50_000))


SIZES = {"fashion-mnist": 60_000, "tiny-imagenet": 100_000}
