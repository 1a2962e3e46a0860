"""One ReLU neuron trained online or on one batch, from many initialisations at once."""

from collections.abc import Iterator
from typing import Annotated, Literal

import torch
from pydantic import Field
from torch import Tensor

from prunefield.core import seeds
from prunefield.core.errors import RunError
from prunefield.core.plugin import Nested
from prunefield.measures.localisation import compute_ipr
from prunefield.modules.glorot import draw_glorot
from prunefield.runs import Record, Run, State
from prunefield.tasks import Fields
from prunefield.training.symmetry import compute_symmetric_gradient

DTYPES = {"float64": torch.float64, "float32": torch.float32}


class Neuron(Run):
    """Gradient descent on the mean of (ŷ−y)² for ŷ = ReLU(w·x) (lufkin2024, model M2, §2.1 and Fig. 3).

    Each step uses a new batch, as in the paper, or all steps the same one; all `inits` neurons see the same batches and
    are independent of each other. With `symmetric`, a batch has every translate and both signs of each of its examples,
    which S2 and S3 make equally probable: the same mean gradient with far less noise. A record holds `weights`
    (inits, N) before its step, and `loss` and `ipr` (inits,); its time is steps × lr.
    """

    task: Annotated[Fields, Nested()] = Field(description="the data: a lengthscale discrimination task")
    seed: int = Field(default=0, ge=0, description="seed of the initial weights and the data")
    inits: int = Field(default=8, ge=1, description="number of initialisations trained in parallel")
    init_scale: float = Field(default=1e-3, gt=0, description="variance of the initial weights: init_scale·2/(N+1)")
    lr: float = Field(default=0.05, gt=0, description="the learning rate τ")
    batch_size: int = Field(default=500, ge=1, description="examples per step")
    fresh: bool = Field(default=True, description="draw a new batch for each step; otherwise reuse one batch")
    steps: int = Field(default=2000, ge=1, description="number of steps")
    record_every: int = Field(default=10, ge=1, description="steps between records; the last step is always recorded")
    dtype: Literal["float64", "float32"] = Field(
        default="float64", description="floating-point precision of the dynamics"
    )
    # These two came later: ids of runs without them stay as they are.
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

    def __call__(self, state: State) -> Iterator[Record | None]:
        task, dtype = self.task, DTYPES[self.dtype]
        data = state.generator(self.seed, *name_stream(self.stream))
        w = state.tensor(
            "weights", lambda: draw_initial_weights(self.seed, self.inits, task.sites, self.init_scale).to(dtype)
        )
        kept = None if self.fresh else self._draw(seeds.generator(self.seed, *name_stream(self.stream)), state)
        for step in range(state.values.get("step", 0), self.steps + 1):
            x, y = kept or self._draw(data, state)
            loss, gradient = self._differentiate(w, x, y)
            if not bool(loss.isfinite().all()):
                raise RunError(
                    f"the loss of the neuron on {task.title} became non-finite at step {step}; lower lr"
                    f" (it is {self.lr:g})"
                )
            record = self._record(step, w, loss) if step % self.record_every == 0 or step == self.steps else None
            w -= gradient
            state.values["step"] = step + 1
            state.done = (step + 1) / (self.steps + 1)
            yield record

    def _differentiate(self, w: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """The loss of each neuron, and lr times its gradient."""
        if self.symmetric:
            loss, gradient = compute_symmetric_gradient(w, x, y, self.task.shape)
            return loss, self.lr * gradient
        before = x @ w.T
        error = before.clamp(min=0) - y[:, None]
        return error.square().mean(0), (2 * self.lr / self.batch_size) * ((error * (before > 0)).T @ x)

    def _draw(self, generator: torch.Generator, state: State) -> tuple[Tensor, Tensor]:
        x, y = self.task.sample(self.batch_size, generator=generator, dtype=DTYPES[self.dtype])
        return x.to(state.device), y.to(state.device)

    def _record(self, step: int, w: Tensor, loss: Tensor) -> Record:
        ipr = compute_ipr(w)
        values = {"step": step, "time": step * self.lr, "loss": float(loss.mean()), "ipr": float(ipr.mean())}
        return Record(values, {"weights": w.cpu().clone(), "loss": loss.cpu(), "ipr": ipr.cpu()})

    def seconds(self) -> float:
        # Measured on one core with 40 sites: 0.2 ms a step and, for each value of a batch, 40 to 75 ns to draw it
        # (Ising is the fastest, Kur the slowest) and 0.3 ns for each neuron.
        values, draws = self.batch_size * self.task.sites, self.steps + 1 if self.fresh else 1
        return (self.steps + 1) * (2e-4 + values * self._products() * self.inits) + draws * values * 5.5e-8

    def _products(self) -> float:
        """Seconds for each value of a batch and each neuron."""
        return 3e-10 * (self.task.sites if self.symmetric else 1)


def name_stream(stream: int) -> tuple[str | int, ...]:
    """The name of a stream of data for `seeds.generator`; that of the first one is older than the others.

    >>> name_stream(0), name_stream(2)
    (('data',), ('data', 2))
    """
    return ("data", stream) if stream else ("data",)


def draw_initial_weights(seed: int, inits: int, size: int, scale: float) -> Tensor:
    """The weights from which `Neuron` and `Flow` both start, shape (inits, size), float64.

    >>> draw_initial_weights(0, 2, 40, 1e-3).equal(draw_initial_weights(0, 2, 40, 1e-3))
    True
    """
    return draw_glorot(inits, size, 1, scale=scale, generator=seeds.generator(seed, "init"))
