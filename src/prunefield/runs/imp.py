"""Iterative magnitude pruning with rewinding of a fully connected net."""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Annotated, ClassVar, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from prunefield.core import seeds
from prunefield.core.errors import UsageError
from prunefield.masks.mask import Mask, unpack_bits
from prunefield.networks.fcn import Fcn, FcnModule, Init
from prunefield.pruning.rounds import (
    compute_removed,
    count_lifetimes,
    draw_random_masks,
    group_parameters,
    keep_magnitudes,
    make_oneshot_masks,
    select_round,
)
from prunefield.runs import Record, Run, State
from prunefield.runs._rewinding import Rewinding, pack_mask
from prunefield.tasks import Batch, Task
from prunefield.tasks.leaves import Leaves
from prunefield.training.ahead import Ahead
from prunefield.training.compact import is_worth_it
from prunefield.training.steps import measure_accuracy, train

Method = Literal["imp", "oneshot", "random"]
METHODS: tuple[Method, ...] = ("imp", "oneshot", "random")
STREAMS = ("images", "labels")  # of random numbers
CHUNK = 1000  # images that are drawn at once


class Imp(Run):
    """Train, prune, rewind, repeat (redman2025, Sec. 2.1 and Table S1; defaults are the paper's net).

    Round n trains θ(rewind)⊙m(n) to θ(T) and prunes that to m(n + 1), with exact counts (`rounds.keep_magnitudes`).
    Hidden layers are pruned, weights and biases together; the output layer and batch norm are not. Record n holds the
    mask m(n), packed, and the accuracy after training with it, on held-out images and (`train_accuracy`) on the first
    ones that round 0 trains on; the last round only gives its mask, so its accuracies are None. Record 0 also holds
    θ(rewind) (`rewind:…`) and when one-shot pruning of the dense θ(T) removes each entry (`oneshot:…`, see
    `rounds.count_lifetimes`). `read_masks` unpacks all three kinds of masks. With `images`, that number of training
    images is drawn once and kept in memory as float32, and every batch is sampled from them with replacement (two draws
    of a data set may be the same image). Random labels are uniform and independent of the image; they are fixed for
    each image where `images` is set, otherwise each draw has a new one, so that nothing can be learnt. Held-out labels
    remain the true ones.
    """

    version: ClassVar[int] = 2  # steps are computed by hand, which rounds differently from autograd

    task: Task = Field(default=Leaves(), description="where the images come from")
    images: int | None = Field(
        default=None, ge=1, description="size of a fixed training set; by default every batch has new images"
    )
    labels: Literal["true", "random"] = Field(default="true", description="training labels: the task's own, or random")
    hidden: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        default=(1024, 1024), min_length=1, description="widths of the hidden layers"
    )
    batch_norm: bool = Field(default=True, description="normalise the input of every linear layer")
    init: Init = Field(default="glorot-normal", description="distribution of the initial weights; biases start at zero")
    init_scale: float = Field(default=1.0, gt=0, description="factor applied to the initial weights")
    steps: int = Field(default=40_000, ge=1, description="T, training steps per round")
    rewind: int = Field(default=1_000, ge=0, description="step of round 0 to whose weights every later round rewinds")
    retrain: Literal["full", "rest"] = Field(
        default="full", description="later rounds take T steps (full), or T − rewind as in Sec. 2.1 (rest)"
    )
    batch_size: int = Field(default=40, ge=2, description="images per step")
    lr: float = Field(default=0.1, gt=0, description="learning rate")
    rounds: int = Field(default=10, ge=1, le=255, description="number of pruning rounds")
    fraction: float = Field(
        default=0.3, gt=0, lt=1, description="fraction of the remaining entries that each round removes"
    )
    scope: Literal["layer", "global"] = Field(
        default="layer", description="one threshold per layer, or one for all layers"
    )
    held_out: int = Field(default=2_000, ge=1, description="number of images for each accuracy (held-out and training)")
    compact: float = Field(
        default=0.75,
        ge=0,
        le=1,
        description="at or below this density, large layers train without their pruned weights (equal up to rounding)",
    )
    seed: int = Field(default=0, ge=0, description="seed of weights and images")

    @model_validator(mode="after")
    def _check_rewind(self) -> "Imp":
        if self.rewind >= self.steps:
            raise UsageError(f"rewind ({self.rewind}) must be less than steps ({self.steps})")
        return self

    @property
    def widths(self) -> tuple[int, ...]:
        """The numbers of units from the inputs to the classes."""
        return (math.prod(self.task.shape), *self.hidden, self.task.classes)

    @property
    def groups(self) -> list[list[str]]:
        """The names of the parameters that share a threshold."""
        return group_parameters([f"layers.{index}" for index in range(len(self.hidden))], self.scope)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every prunable parameter by its name."""
        pairs = pairwise(self.widths[:-1])
        return {
            f"layers.{index}.{part}": shape
            for index, (fan_in, fan_out) in enumerate(pairs)
            for part, shape in (("weight", (fan_out, fan_in)), ("bias", (fan_out,)))
        }

    def seconds(self) -> float:
        # Measured on one core, good to a third: 0.3 ms a step whatever the size, 8 ns a pixel painted, 3.2e-11 s for
        # each weight, image and product, 1.3e-10 s for each kept weight of a compact layer and image, 6 ns for each
        # normalised feature and image, 80 ns a weight for each pruning.
        weights = [a * b for a, b in pairwise(self.widths)]
        features = sum(self.widths[:-1]) if self.batch_norm else 0
        drawn = 8e-9 * self.widths[0]
        fixed = 3e-4 + self.batch_size * ((0 if self.images else drawn) + 6e-9 * features)
        total = drawn * (self.images or 0) + 0.5
        for n in range(self.rounds):
            density = (1 - self.fraction) ** n
            products = 0.0
            for index, size in enumerate(weights):
                is_compact = index < len(self.hidden) and is_worth_it(size, density, self.compact)
                dense = 3.2e-11 * (3 if index or self.batch_norm else 2)
                products += size * (1.3e-10 * density if is_compact else dense)
            total += (fixed + self.batch_size * products) * self.steps + 8e-8 * sum(weights)
        return total

    def __call__(self, state: State) -> Iterator[Record | None]:
        imp = Rewinding(state, self.build, self.shapes, "round", self.rounds, self.steps, self.rewind)
        net, rewound = imp.net, imp.rewound
        assert isinstance(net, FcnModule)
        test = self._on(state, self.task.held_out(self.held_out, generator=seeds.generator(self.seed, "held-out")))
        reused = self._reused()
        seen = self._on(state, self._first(reused))
        place = state.values
        images, labels = (state.generator(self.seed, name) for name in STREAMS)
        stream = Ahead(self.task, self.batch_size, images, taken=place.get("step", 0))

        def draw() -> Batch:
            return self._on(state, self._draw(reused, stream, labels))

        def train_round(n: int) -> Iterator[int]:
            for goal in self._goals(n):
                start = place.setdefault("step", 0)  # after "round": the digest depends on the order
                yield from train(net, draw, steps=goal, lr=self.lr, mask=imp.mask, start=start, compact=self.compact)

        def describe_round(n: int) -> Record:
            scores = (None, None) if n == self.rounds else (measure_accuracy(net, test), measure_accuracy(net, seen))
            record = self._record(n, imp.mask, *scores)
            record.tensors.update(self._dense(net, rewound) if n == 0 else {})
            return record

        def prune_round(n: int) -> Mask:
            weights = dict(net.named_parameters())
            return keep_magnitudes(weights, self.groups, compute_removed(n + 1, self.fraction), imp.kept)

        def restart(_: int) -> None:
            net.load_state_dict(rewound.state_dict())
            net.forget_()
            imp.mask.apply_(net)
            stream.restart()
            place["step"] = 0

        yield from imp.iterate(train_round, describe_round, prune_round, restart)

    def _goals(self, n: int) -> Sequence[int]:
        """The steps up to which round n trains, one after the other; at the first of round 0 the net is stored."""
        if n == 0:
            return (self.rewind, self.steps)
        return (self.steps if self.retrain == "full" else self.steps - self.rewind,)

    def build(self) -> FcnModule:
        """The network with its initial weights."""
        net = Fcn(hidden=self.hidden, batch_norm=self.batch_norm, init=self.init, init_scale=self.init_scale)
        return net.build(self.task.shape, self.task.classes, generator=seeds.generator(self.seed, "init"))

    def _draw(self, reused: Batch | None, images: Ahead, labels: torch.Generator) -> Batch:
        """The next batch of the training."""
        if reused is not None:
            chosen = torch.randint(len(reused.y), (self.batch_size,), generator=images.stream)
            return Batch(reused.x[chosen], reused.y[chosen])
        return self._relabel(images.draw(), labels)

    def _reused(self) -> Batch | None:
        """The images that are reused, if any."""
        if self.images is None:
            return None
        images, labels = (seeds.generator(self.seed, "pool", name) for name in STREAMS)
        reused = Batch(torch.empty(self.images, self.widths[0]), torch.empty(self.images, dtype=torch.long))
        for x, y in zip(reused.x.split(CHUNK), reused.y.split(CHUNK), strict=True):
            part = self._relabel(self.task.sample(len(y), generator=images), labels)
            x.copy_(part.x)
            y.copy_(part.y)
        return reused

    def _first(self, reused: Batch | None) -> Batch:
        """The images of the first batches, about `held_out` of them."""
        images, labels = (seeds.generator(self.seed, name) for name in STREAMS)
        count = min(self.steps, math.ceil(self.held_out / self.batch_size))
        stream = Ahead(self.task, self.batch_size, images)
        batches = [self._draw(reused, stream, labels) for _ in range(count)]
        return Batch(torch.cat([batch.x for batch in batches]), torch.cat([batch.y for batch in batches]))

    def _relabel(self, batch: Batch, labels: torch.Generator) -> Batch:
        if self.labels == "true":
            return batch
        return Batch(batch.x, torch.randint(self.task.classes, batch.y.shape, generator=labels))

    def _on(self, state: State, batch: Batch) -> Batch:
        return Batch(batch.x.to(state.device), batch.y.to(state.device))

    def _record(self, n: int, mask: Mask, test: float | None, seen: float | None) -> Record:
        density = {f"density:{name}": share for name, share in mask.per_layer().items()}
        values = {"round": n, "accuracy": test, "train_accuracy": seen, "density": mask.density, **density}
        return Record(values, pack_mask(mask))

    def _dense(self, net: nn.Module, rewound: nn.Module) -> dict[str, Tensor]:
        trained = dict(net.named_parameters())
        lifetimes = count_lifetimes(make_oneshot_masks(trained, self.groups, self.rounds, self.fraction))
        start = {f"rewind:{name}": item.detach().cpu().clone() for name, item in rewound.state_dict().items()}
        return start | {f"oneshot:{name}": item.cpu() for name, item in lifetimes.items()}


def read_masks(run: Imp, records: Sequence[Record], method: Method) -> list[Mask]:
    """The masks m(0), …, m(rounds) of a method from the records of a finished run; random ones are drawn again."""
    if method == "imp":
        packed = [{name: (r.tensors[f"mask:{name}"], shape) for name, shape in run.shapes.items()} for r in records]
        return [Mask({name: unpack_bits(*item) for name, item in items.items()}) for items in packed]
    if method == "oneshot":
        lifetimes = {name: records[0].tensors[f"oneshot:{name}"] for name in run.shapes}
        return [select_round(lifetimes, n) for n in range(run.rounds + 1)]
    stream = seeds.generator(run.seed, "random masks")
    return draw_random_masks(run.shapes, run.groups, run.rounds, run.fraction, generator=stream)
