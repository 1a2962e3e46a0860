"""Two-layer networks trained online: soft committee machines, or with a trained second layer."""

import math
from collections.abc import Iterator
from typing import Annotated, Literal

import torch
from pydantic import Field, model_validator
from torch import Tensor

from prunefield.core import seeds
from prunefield.core.errors import RunError, UsageError
from prunefield.core.plugin import Nested
from prunefield.measures.localisation import compute_ipr
from prunefield.modules.glorot import draw_glorot
from prunefield.runs import Record, Run, State
from prunefield.runs.neuron import DTYPES, name_stream
from prunefield.tasks import Discrimination
from prunefield.training.committee import Activation, compute_gradient
from prunefield.training.committee import CommitteeNets as Nets
from prunefield.training.symmetry import average_translates, translate_fields


class Committee(Run):
    """Gradient descent on the mean of (ŷ−y)² for ŷ = (v·σ(Wx + b) + c)/K (lufkin2024, model M1, §4.4, Figs. 1, 6, 7).

    W has the Glorot distribution with variance init_scale·2/(N+K), b and c start at 0. The soft committee machine keeps
    v = 1 and c = 0; a trained second layer starts at v = 1 plus Glorot noise of variance init_scale·2/(K+1), times
    factors from 1/√outer_ratio to √outer_ratio, evenly spaced on a logarithmic scale and in random order. All
    `inits` networks see the same batches, whose examples may come in all translates and both signs (`symmetric`, as for
    `Neuron`). A record holds `weights` (inits, K, N) before its step, `ipr` (inits, K),
    `loss` (inits,) and, where they are trained, `bias` and `outer` (inits, K) and `offset` (inits,). A run whose loss
    or weights become non-finite fails, or ends with the records that it has (`diverging`).
    """

    task: Annotated[Discrimination, Nested()] = Field(description="the data: a lengthscale discrimination task")
    seed: int = Field(default=0, ge=0, description="seed of the initial weights and the data")
    inits: int = Field(default=1, ge=1, description="number of networks trained in parallel")
    hidden: int = Field(default=10, ge=1, description="number of hidden units K of each network")
    activation: Activation = Field(default="sigmoid", description="σ: relu, sigmoid, or erf of a/√2")
    bias: bool = Field(default=True, description="whether the hidden units have trainable biases")
    second: Literal["fixed", "learnt"] = Field(default="fixed", description="second layer: 1/K, or trained")
    init_scale: float = Field(default=0.1, gt=0, description="variance of the initial weights: init_scale·2/(N+K)")
    lr: float = Field(default=100.0, gt=0, description="the learning rate τ; gradients are of the order of 1/K")
    batch_size: int = Field(default=1000, ge=1, description="examples per step")
    fresh: bool = Field(default=True, description="draw a new batch for each step; otherwise reuse one batch")
    steps: int = Field(default=5000, ge=1, description="number of steps")
    record_every: int = Field(default=100, ge=1, description="steps between records; the last step is always recorded")
    dtype: Literal["float64", "float32"] = Field(
        default="float64", description="floating-point precision of the dynamics"
    )
    # These came later: ids of runs without them stay as they are.
    symmetric: bool = Field(
        default=False,
        description="extend each batch by all translates and both signs of every example",
        exclude_if=lambda value: not value,
    )
    stream: int = Field(
        default=0,
        ge=0,
        description="number of the data stream; the initial weights depend on the seed alone",
        exclude_if=lambda value: not value,
    )
    outer_ratio: float = Field(
        default=1.0,
        ge=1,
        le=1e6,
        description="largest over smallest factor of the initial weights of a trained second layer",
        exclude_if=lambda value: value == 1,
    )
    diverging: Literal["fail", "stop"] = Field(
        default="fail",
        description="what to do once the loss or the weights are not finite: fail, or stop with the records so far",
        exclude_if=lambda value: value == "fail",
    )

    @model_validator(mode="after")
    def _check_outer(self) -> "Committee":
        if self.outer_ratio > 1 and (self.second == "fixed" or self.hidden < 2):
            raise UsageError("outer_ratio needs a trained second layer of two or more units; set second = 'learnt'")
        return self

    def __call__(self, state: State) -> Iterator[Record | None]:
        data = state.generator(self.seed, *name_stream(self.stream))
        nets = Nets(*(state.tensor(name, tensor.clone) for name, tensor in self.start()._asdict().items()))
        kept = None if self.fresh else self._draw(seeds.generator(self.seed, *name_stream(self.stream)), state)
        for step in range(state.values.get("step", 0), self.steps + 1):
            x, y = kept or self._draw(data, state)
            loss, gradient = self._differentiate(nets, x, y)
            # Sigmoids keep the loss finite for long while the weights run away.
            if not bool(loss.isfinite().all() and nets.weights.square().sum().isfinite()):
                if self.diverging == "stop" and step:
                    return
                raise RunError(
                    f"the loss or the weights of the committee on {self.task.title} became non-finite at step {step};"
                    f" lower lr (it is {self.lr:g})"
                )
            record = self._record(step, nets, loss) if step % self.record_every == 0 or step == self.steps else None
            for name in self._learning():
                getattr(nets, name).sub_(getattr(gradient, name), alpha=self.lr)
            state.values["step"] = step + 1
            state.done = (step + 1) / (self.steps + 1)
            yield record

    def start(self) -> Nets:
        """The networks before the first step."""
        size, hidden, dtype = self.task.sites, self.hidden, DTYPES[self.dtype]
        generator = seeds.generator(self.seed, "init")
        weights = draw_glorot(self.inits * hidden, size, hidden, scale=self.init_scale, generator=generator)
        outer = torch.ones(self.inits, hidden, dtype=torch.float64)
        if self.second == "learnt":
            outer += draw_glorot(self.inits, hidden, 1, scale=self.init_scale, generator=generator)
        if self.outer_ratio > 1:
            reach = math.log(self.outer_ratio) / 2
            order = torch.rand(self.inits, hidden, generator=generator).argsort(1)
            outer *= torch.linspace(-reach, reach, hidden, dtype=torch.float64).exp()[order]
        parts = (weights.view(self.inits, hidden, size), torch.zeros_like(outer), outer, torch.zeros(self.inits))
        return Nets(*(part.to(dtype) for part in parts))

    def _differentiate(self, nets: Nets, x: Tensor, y: Tensor) -> tuple[Tensor, Nets]:
        """The loss and the gradient of each network; translated networks stand for translated examples."""
        if not self.symmetric:
            return compute_gradient(nets, x, y, self.activation)
        weights = translate_fields(nets.weights, self.task.shape)
        others = (part.repeat(len(weights), *[1] * (part.dim() - 1)) for part in nets[1:])
        moved = Nets(weights.flatten(0, 1), *others)
        loss, slopes = compute_gradient(moved, torch.cat([x, -x]), torch.cat([y, y]), self.activation)
        means = (part.view(len(weights), *same.shape).mean(0) for part, same in zip(slopes[1:], nets[1:], strict=True))
        gradient = average_translates(slopes.weights.view_as(weights), self.task.shape)
        return loss.view(len(weights), -1).mean(0), Nets(gradient, *means)

    def _draw(self, generator: torch.Generator, state: State) -> tuple[Tensor, Tensor]:
        x, y = self.task.sample(self.batch_size, generator=generator, dtype=DTYPES[self.dtype])
        return x.to(state.device), y.to(state.device)

    def _learning(self) -> list[str]:
        """The parts of the networks that learn."""
        return ["weights", *(["bias"] * self.bias), *(["outer", "offset"] * (self.second == "learnt"))]

    def _record(self, step: int, nets: Nets, loss: Tensor) -> Record:
        ipr = compute_ipr(nets.weights)
        values = {"step": step, "time": step * self.lr, "loss": float(loss.mean()), "ipr": float(ipr.mean())}
        learnt = {name: getattr(nets, name).cpu().clone() for name in self._learning()}
        return Record(values, {**learnt, "loss": loss.cpu(), "ipr": ipr.cpu()})

    def seconds(self) -> float:
        # Measured on one core: 0.3 ms a step, 65 ns to draw each value of a batch (once, if it is kept), and for each
        # example and hidden unit 25 ns and 0.3 ns for each site.
        size, units = self.task.sites, self.inits * self.hidden
        draws = (self.steps + 1) if self.fresh else 1
        copies = 2 * size if self.symmetric else 1
        learning = (self.steps + 1) * (3e-4 + copies * self.batch_size * units * (2.5e-8 + 3e-10 * size))
        return learning + draws * self.batch_size * size * 6.5e-8
