"""A network that is pruned at initialisation and then trained: one cell and seed of bar2023's tables."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from prunefield.core import seeds
from prunefield.core.errors import UsageError
from prunefield.core.plugin import Nested, find_class
from prunefield.masks.mask import Mask, unpack_bits
from prunefield.masks.selection import Reduction
from prunefield.measures.collapse import find_collapse
from prunefield.networks import Network
from prunefield.pruning.iterations import Sampling, prune
from prunefield.pruning.schedules import Schedule
from prunefield.runs import Record, Run, State
from prunefield.runs._cost import estimate_pass, measure_network
from prunefield.runs._cost import estimate_training as train_seconds
from prunefield.runs._rewinding import pack_mask
from prunefield.runs.tickets import Tickets, count_examples
from prunefield.scores import Score, find_prunable
from prunefield.scores.magnitude import Magnitude
from prunefield.tasks import Batch, Synthetic, Task
from prunefield.training.examples import TrainingExamples, hold_out
from prunefield.training.recipe import Recipe
from prunefield.training.steps import measure_accuracy


class Pruned(Run):
    """Score, keep or sample, train (bar2023, Sec. 8, Tables 1 to 4); the same seed has the same weights and batches.

    With `of` the scores are those of the weights trained by IMP, starting from its last mask, and training begins with
    its rewound weights: at step 0, or at its rewind step if `continued`. Record 0 is about the mask: its density, in
    all and in each layer; how many layers are `emptied`, whether nothing flows any more (`dead`); the mean |w| of kept
    initial weights relative to that of all (`bias`) and to that of their own layers (`bias_within`). Then comes one
    record per epoch with the mean loss; the last one has the accuracy. With `shown` record 0 has tensors too: the mask
    (`mask:…`), initial weights that are kept (`weights`), and `scores` of randomly selected weights with whether they
    are `chosen`.
    """

    task: Task = Field(description="where the images come from")
    images: int = Field(default=10_000, ge=2, description="number of images, for a task that can generate any number")
    net: Network = Field(description="the network")
    recipe: Recipe = Field(description="the training recipe")
    density: float = Field(gt=0, le=1, description="fraction of the weights of linear and convolution layers to keep")
    score: Score = Field(default=Magnitude(), description="the score that ranks the weights")
    inputs: Task | None = Field(
        default=None, description="the data that the score sees [default: the images that the net is trained on]"
    )
    examples: int = Field(
        default=256, ge=1, description="number of examples that the score sees (always 1 for the tasks chi and ones)"
    )
    iterations: int = Field(
        default_factory=lambda values: values["score"].iterations,
        ge=1,
        description="number of score-and-prune iterations; by default that of the score: 100 for synflow, otherwise 1",
    )
    schedule: Schedule = Field(default="exponential", description="schedule of the intermediate densities")
    sample: Sampling = Field(
        default="never",
        description="when to sample the mask in proportion to its scores instead of keeping the largest",
    )
    reduce: Reduction | None = Field(default=None, description="how signed scores become sampling probabilities")
    shuffle: bool = Field(
        default=False,
        description="finally shuffle the mask within each layer, so that only the number kept in each layer remains",
        exclude_if=lambda value: not value,  # it came later: ids of runs without it stay as they are
    )
    of: Annotated[Tickets, Nested()] | None = Field(default=None, description="the iterative pruning run to start from")
    continued: bool = Field(
        default=False,
        description="with `of`: count its steps before the rewind point, so that the net is trained for no longer than "
        "one that is pruned at initialisation",
        exclude_if=lambda value: not value,
    )
    held_out: int = Field(default=2_000, ge=1, description="number of images for each accuracy")
    shown: int = Field(default=0, ge=0, description="number of weights and scores to record")
    seed: int = Field(default=0, ge=0, description="seed of the weights, inputs, mask and training")

    @model_validator(mode="before")
    @classmethod
    def _fit_inputs(cls, values: Any) -> Any:
        """Synthetic inputs given by name alone get the task's shape and classes."""
        name = values.get("inputs") if isinstance(values, dict) else None
        if not isinstance(name, str) or not issubclass(find_class(Task, name), Synthetic):
            return values
        task = Task.parse(values.get("task"))
        return values | {"task": task, "inputs": {"kind": name, "shape": task.shape, "classes": task.classes}}

    @model_validator(mode="after")
    def _check_inputs(self) -> "Pruned":
        if self.inputs is not None and self.inputs.shape != self.task.shape:
            raise UsageError(f"inputs must have the shape {self.task.shape} of the task, not {self.inputs.shape}")
        return self

    @model_validator(mode="after")
    def _check_reduce(self) -> "Pruned":
        if self.reduce is not None and self.sample == "never":
            raise UsageError("reduce is for sampled masks: set sample to every or last")
        return self

    @model_validator(mode="after")
    def _check_of(self) -> "Pruned":
        if self.of is not None and (self.of.net, self.of.task.shape) != (self.net, self.task.shape):
            raise UsageError("the iterative pruning run in `of` must have the same net and input shape")
        if self.continued and self.of is None:
            raise UsageError("`continued` is for a net that an iterative pruning run has trained; set `of`, too")
        return self

    def seconds(self) -> float:
        shape, classes = self.task.shape, self.task.classes
        one, weights = estimate_pass(self.net, shape, classes), measure_network(self.net, shape, classes).weights
        trained = train_seconds(self.net, shape, classes, self.recipe, count_examples(self.task, self.images))
        seen = 1 if self.score.kind() == "synflow" else self._seen()
        scored = self.iterations * (5e-3 + 4e-8 * weights + 3 * seen * one)
        return 0.1 + trained + scored + (self.held_out * one / 3 if self.recipe.epochs else 0)

    def __call__(self, state: State) -> Iterator[Record | None]:
        net = self.net.build(self.task.shape, self.task.classes, generator=seeds.generator(self.seed, "init"))
        examples, place = TrainingExamples.of(self.task, self.images, self.seed), state.values
        total, begun = self.recipe.steps(len(examples.y)), self.of.rewind if self.of and self.continued else 0
        if begun and begun >= total:
            raise UsageError(f"a continued net needs more steps ({total}) than the rewind point of `of` ({begun})")
        test = hold_out(self.task, self.held_out, self.seed) if total else None  # now: it may be refused
        found, record = (None, None) if "step" in place else self._choose(state, net, examples)
        kept = {
            name: state.tensor(f"mask:{name}", lambda name=name: _part(found, name))
            for name in find_prunable(net)
        }  # fmt: skip
        state.module("net", net)
        if record is not None:
            place.update(step=begun, losses=0.0)
            yield record
        each = total // max(self.recipe.epochs, 1)
        how = {"keep": state.tensor, "seed": self.seed, "names": ("train",), "start": place["step"]}
        for step, loss in self.recipe.train(net, examples, mask=Mask(kept), **how):
            place.update(step=step, losses=place["losses"] + loss)
            state.done = step / total
            if step % each:
                yield None
                continue
            mean, place["losses"] = place["losses"] / min(each, step - begun), 0.0
            accuracy = measure_accuracy(net, test) if test and step == total else None
            yield Record({"epoch": step // each, "loss": mean, "accuracy": accuracy})

    def _choose(self, state: State, net: nn.Module, examples: TrainingExamples) -> tuple[Mask, Record]:
        """The mask and its record; the net gets the weights with which its training begins."""
        first = {name: weight.detach().clone() for name, weight in find_prunable(net).items()}
        old, last = None, {}
        if self.of is not None:
            before, last = (record.tensors for record in state.read(self.of).records[-2:])
            old = Mask({name: unpack_bits(before[f"mask:{name}"], weight.shape) for name, weight in first.items()})
            with torch.no_grad():
                for name, weight in find_prunable(net).items():
                    weight.copy_(last[f"trained:{name}"])
        stream = seeds.generator(self.seed, "mask")
        how = {name: getattr(self, name) for name in ("iterations", "schedule", "sample", "reduce")}
        how["check"] = False  # record 0 says what collapsed
        with warnings.catch_warnings(record=True) as topped_up:
            warnings.simplefilter("always")
            mask = prune(net, self.score, self.density, self._inputs(examples), generator=stream, start=old, **how)
        if self.shuffle:
            mask = mask.shuffled(seeds.generator(self.seed, "shuffle"))
        scores = self._scores(net, examples) if self.shown else {}
        if last:
            net.load_state_dict({key: last[f"start:{key}"] for key in net.state_dict()})
        return mask, self._record(net, mask, first, scores, len(topped_up))

    def _inputs(self, examples: TrainingExamples) -> Callable[[], Sequence[Batch]]:
        """New inputs for each iteration."""
        stream, task = seeds.generator(self.seed, "inputs"), self.inputs

        def draw() -> Sequence[Batch]:
            if task is None:
                return [examples.take(torch.randperm(len(examples.y), generator=stream)[: self.examples])]
            return [task.sample(self._seen(), generator=stream).fold(task.shape)]

        return draw

    def _seen(self) -> int:
        """The number of examples that the score sees."""
        return 1 if isinstance(self.inputs, Synthetic) and self.inputs.single else self.examples

    def _scores(self, net: nn.Module, examples: TrainingExamples) -> dict[str, Tensor]:
        """The scores before anything is pruned."""
        return self.score(net, self._inputs(examples)(), generator=seeds.generator(self.seed, "shown scores"))

    def _record(
        self, net: nn.Module, mask: Mask, first: dict[str, Tensor], scores: dict[str, Tensor], topped_up: int
    ) -> Record:
        collapse, counts = find_collapse(net, mask, self.task.shape), mask.counts()
        total, kept = torch.cat([w.abs().flatten() for w in first.values()]), sum(counts.values())
        sums = {name: float(weight.abs()[mask[name]].sum()) for name, weight in first.items()}
        fair = sum(number * float(first[name].abs().mean()) for name, number in counts.items())
        values = {"epoch": 0, "loss": None, "accuracy": None, "density": mask.density, "kept": kept}
        values |= {"emptied": len(collapse.emptied), "cut": len(collapse.cut), "dead": collapse.dead}
        values |= {"topped_up": topped_up, "bias": sum(sums.values()) / kept / float(total.mean())}
        values |= {"bias_within": sum(sums.values()) / fair}
        values |= {f"density:{name}": share for name, share in mask.per_layer().items()}
        return Record(values, self._show(mask, first, scores) if self.shown else {})

    def _show(self, mask: Mask, first: dict[str, Tensor], scores: dict[str, Tensor]) -> dict[str, Tensor]:
        stream = seeds.generator(self.seed, "shown")
        weights, flags, rates = (
            torch.cat([part.flatten() for part in table.values()]) for table in (first, mask, scores)
        )
        kept = torch.nonzero(flags).flatten()
        places = torch.randperm(len(weights), generator=stream)[: self.shown]  # first: the same for every mask
        some = kept[torch.randperm(len(kept), generator=stream)[: self.shown]]
        shown = {"weights": weights[some], "scores": rates[places].float(), "chosen": flags[places]}
        return pack_mask(mask) | shown


def _part(mask: Mask | None, name: str) -> Tensor:
    assert mask is not None, "a resumed run has its mask"
    return mask[name]
