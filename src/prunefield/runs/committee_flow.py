"""The gradient flow that predicts what a few ReLU units learn together."""

from collections.abc import Iterator
from typing import Annotated

import torch
from pydantic import Field, model_validator

from prunefield.core.errors import UsageError
from prunefield.core.plugin import Nested
from prunefield.measures.localisation import compute_ipr
from prunefield.runs import Record, Run, State
from prunefield.runs.committee import Committee
from prunefield.tasks import Discrimination
from prunefield.theory.committee_flow import compute_committee_velocity
from prunefield.theory.flow import integrate_velocity

LEG = 10.0  # units of time between two safe points, for each hidden unit


class CommitteeFlow(Run):
    """The flow of a soft committee of ReLU units, from the initial weights of `Committee` with the same settings.

    It is Eq. 5 of lufkin2024 for each unit, with a term for each pair of units, exact for Gaussian data
    (`theory.committee_flow`); `together` off leaves each unit alone, with the output max(0, w·x) and the same initial
    weights. A record holds `weights` (inits, K, N) and `ipr` (inits, K); time is steps × learning rate.
    """

    task: Annotated[Discrimination, Nested()] = Field(description="the data: a lengthscale discrimination task")
    seed: int = Field(default=0, ge=0, description="seed of the initial weights")
    inits: int = Field(default=1, ge=1, description="number of networks integrated in parallel")
    hidden: int = Field(default=4, ge=1, description="number of hidden units K of each network")
    init_scale: float = Field(default=1e-3, gt=0, description="variance of the initial weights: init_scale·2/(N+K)")
    together: bool = Field(default=True, description="let the units of a network interact; otherwise each learns alone")
    time: float = Field(default=400.0, gt=0, description="end time, in units of steps × learning rate")
    tolerance: float = Field(default=1e-6, gt=0, le=1e-2, description="relative error allowed per step")

    @model_validator(mode="after")
    def _check_task(self) -> "CommitteeFlow":
        if self.task.classes != 2:
            raise UsageError(f"the flow of committees needs two classes (got {self.task.classes})")
        return self

    def __call__(self, state: State) -> Iterator[Record | None]:
        task = self.task
        start = Committee(task=task, seed=self.seed, inits=self.inits, hidden=self.hidden, init_scale=self.init_scale)
        state.tensor("weights", lambda: start.start().weights)
        short, long = task.covariance(0), task.covariance(1)

        def change(w: torch.Tensor) -> torch.Tensor:
            return compute_committee_velocity(w, short, long, task.amplifier, together=self.together)

        if "time" not in state.values:
            state.values["time"] = 0.0
            yield self._record(state)
        while (now := state.values["time"]) < self.time:
            then = min(self.time, now + LEG * self.hidden)
            w = state.tensors["weights"]
            state.tensors["weights"] = integrate_velocity(w, [now, then], change, tolerance=self.tolerance)[-1]
            state.values["time"], state.done = then, then / self.time
            yield self._record(state) if then == self.time else None

    def _record(self, state: State) -> Record:
        w = state.tensors["weights"].clone()
        ipr = compute_ipr(w)
        return Record({"time": state.values["time"], "ipr": float(ipr.mean())}, {"weights": w, "ipr": ipr})
