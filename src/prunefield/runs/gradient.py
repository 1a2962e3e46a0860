"""The true gradient along the path of a run, by sampling, compared with the gradient flow that predicts it."""

import math
from collections.abc import Iterator
from typing import Annotated

import torch
from pydantic import Field, model_validator
from torch import Tensor

from prunefield.core.errors import UsageError
from prunefield.core.plugin import Nested
from prunefield.measures.localisation import compute_ipr
from prunefield.runs import Record, Run, State
from prunefield.runs.flow import Flow
from prunefield.runs.neuron import Neuron
from prunefield.tasks import Discrimination
from prunefield.theory.flow import compute_velocity

CHUNK = 4000
SOME = 1000  # examples from which the noise is estimated


class Gradient(Run):
    """−∇L of the mean squared error at the weights of `of`, by sampling, against ẇ of Eq. 5 (lufkin2024, Lemma 3.1).

    No property of the data is used: the sample mean of −2(ŷ−y)·1(w·x>0)·x is compared with ½φ(Σ₁w/√(wᵀΣ₁w)) −
    ½(Σ₀+Σ₁)w. Examples are dealt to two halves; the product of their two differences from Eq. 5 has the squared error
    of Eq. 5 as its mean, whatever the noise. A record is one time of `of`; its tensors are (inits,): `distance`, that
    product; `drive`, the squared length of Eq. 5's first term ½φ; `noise`, the deviation to be expected of `distance`
    if Eq. 5 is exact; `wrong`, the product with the sign that Appendix C.1 prints; and `ipr`.
    """

    of: Run = Field(description="the neuron or flow run at whose weights the gradient is taken")
    task: Annotated[Discrimination, Nested()] = Field(description="the data, with the same number of sites")
    samples: int = Field(default=40_000, ge=2 * CHUNK, multiple_of=2 * CHUNK, description="number of examples")
    times: tuple[float, ...] = Field(
        default=(0.0,), description="times at which to take the gradient; the nearest recorded ones are used"
    )

    @model_validator(mode="after")
    def _check(self) -> "Gradient":
        if not isinstance(self.of, Neuron | Flow):
            raise UsageError(f"`of` must be a neuron or a flow, which have a gradient (got {self.of.kind()})")
        if self.of.task.shape != self.task.shape:
            raise UsageError(f"the task has {self.task.shape} sites, but the weights have {self.of.task.shape}")
        return self

    def __call__(self, state: State) -> Iterator[Record | None]:
        assert isinstance(self.of, Neuron | Flow)
        records = state.read(self.of).records
        chosen = [min(records, key=lambda record, time=time: abs(record["time"] - time)) for time in self.times]
        w = torch.stack([record.tensors["weights"].to(torch.float64) for record in chosen])
        total = state.tensor("total", lambda: torch.zeros(2, *w.shape, dtype=torch.float64))
        spread = state.tensor("spread", lambda: torch.zeros(w.shape[:2], dtype=torch.float64))
        data = state.generator(self.of.seed, "gradient")
        for chunk in range(state.values.get("chunk", 0), self.samples // CHUNK):
            x, y = self.task.sample(CHUNK, generator=data, dtype=torch.float64)
            before = x @ w.flatten(0, 1).T
            pull = 2 * (y[:, None] - before) * (before > 0)
            total[chunk % 2] += (pull.T @ x).view_as(w)
            if chunk == 0:
                spread.copy_(_scatter(pull[:SOME], x[:SOME]).view_as(spread))
            state.values["chunk"] = chunk + 1
            state.done = (chunk + 1) / (self.samples // CHUNK + 1)
            yield None
        for given in range(state.values.get("given", 0), len(chosen)):
            state.values["given"] = given + 1
            state.done = (self.samples // CHUNK * len(chosen) + given + 1) / (len(chosen) * (self.samples // CHUNK + 1))
            yield self._record(chosen[given]["time"], w[given], total[:, given], spread[given])

    def _record(self, time: float, w: Tensor, total: Tensor, spread: Tensor) -> Record:
        short, long = self.task.covariance(0), self.task.covariance(1)
        flow = compute_velocity(w, short, long, self.task.amplifier)
        drive = flow + w @ (short + long) / 2
        mean = total / (self.samples / 2)
        tensors = {
            "distance": ((mean[0] - flow) * (mean[1] - flow)).sum(-1),
            "wrong": ((mean[0] - flow + 2 * drive) * (mean[1] - flow + 2 * drive)).sum(-1),
            "drive": drive.square().sum(-1),
            "noise": spread / (self.samples / 2),
            "ipr": compute_ipr(w),
        }
        ratio = float((tensors["distance"].clamp(min=0) / tensors["drive"]).mean())
        return Record({"time": time, "error": math.sqrt(ratio)}, tensors)

    def seconds(self) -> float:
        assert isinstance(self.of, Neuron | Flow)
        # Measured: 50 ns to draw a value and 0.4 ns for each field.
        return 0.1 + self.samples * self.task.sites * (5e-8 + 4e-10 * len(self.times) * self.of.inits)


def _scatter(pull: Tensor, x: Tensor) -> Tensor:
    """√tr(M²), M the second moments of the gradients g = pull·x of single examples; `pull` is (examples, fields).

    Sites are correlated, and so is their noise. tr(M²) is the mean of (gₛ·gₜ)² over pairs of different examples.
    """
    near = (x @ x.T).square().fill_diagonal_(0)
    weight = pull.square().T
    return ((weight @ near) * weight).sum(1).div(len(x) * (len(x) - 1)).sqrt()
