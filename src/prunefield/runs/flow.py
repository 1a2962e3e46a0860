"""The gradient flow that predicts what one ReLU neuron learns."""

import math
from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import Field, model_validator
from torch import Tensor

from prunefield.core.errors import UsageError
from prunefield.core.plugin import Nested
from prunefield.measures.localisation import compute_ipr
from prunefield.runs import Record, Run, State
from prunefield.runs.neuron import draw_initial_weights
from prunefield.tasks import Discrimination
from prunefield.theory.amplifier import amplify_gaussian, expand_amplifier
from prunefield.theory.elliptical import linearise_amplifier
from prunefield.theory.flow import compute_class_velocity, integrate_flow, integrate_velocity

LEG = 10  # records between two restarts of the integrator


class Flow(Run):
    """The integral of Eq. 5 of lufkin2024 from the initial weights of `Neuron` with the same seed, scale and inits.

    The amplifier is exact or its cubic (Lemma B.1), as in the last column of Fig. 3; `gaussian` is the line √(2/π)·a of
    Gaussian data with the same covariances, which is what Gaussian equivalence assumes (Appendix B.3). More than two
    classes follow Eq. 10, with the targets 0, 1, …, K − 1. A record holds `weights`
    (inits, N) and `ipr` (inits,) at its time.
    """

    version: ClassVar[int] = 3  # even and odd fields apart: the last of the digits that the tolerance leaves are others
    task: Annotated[Discrimination, Nested()] = Field(description="the data: a lengthscale discrimination task")
    seed: int = Field(default=0, ge=0, description="seed of the initial weights")
    inits: int = Field(default=8, ge=1, description="number of initialisations to integrate from")
    init_scale: float = Field(default=1e-3, gt=0, description="variance of the initial weights: init_scale·2/(N+1)")
    amplifier: Literal["exact", "cubic", "linear", "gaussian"] = Field(
        default="exact",
        description="the amplifier: φ itself, its cubic expansion, φ(1)·a (exact for elliptical data), or √(2/π)·a",
    )
    time: float = Field(default=100.0, gt=0, description="end time, in units of steps × learning rate")
    record_every: float = Field(default=2.5, gt=0, description="time between records")
    tolerance: float = Field(default=1e-6, gt=0, le=1e-2, description="relative error allowed per step")

    @model_validator(mode="after")
    def _check_task(self) -> "Flow":
        if self.amplifier == "cubic" and not math.isfinite(self.task.kurtosis()):
            raise UsageError(f"the kurtosis of {self.task.title} is infinite, so there is no cubic; use 'exact'")
        return self

    def __call__(self, state: State) -> Iterator[Record | None]:
        task = self.task
        w = state.tensor("weights", lambda: draw_initial_weights(self.seed, self.inits, task.sites, self.init_scale))
        stops = self._stops()
        if "stop" not in state.values:
            state.values.update(stop=0, given=0)
            yield self._record(0.0, w)
        # A leg is integrated as one, from weights that are kept until its last record, and so has the same bits when
        # it is resumed in the middle. Shorter legs would waste evaluations on finding the size of the first step.
        for stop in range(state.values["stop"], len(stops) - 1, LEG):
            times = stops[stop : stop + LEG + 1]
            w = state.tensors["weights"].clone()
            path = self._integrate(w, times)
            for given in range(state.values["given"] + 1, len(times)):
                state.values["given"] = given
                if given == len(times) - 1:
                    state.tensors["weights"] = path[-1].clone()
                    state.values.update(stop=stop + given, given=0)
                state.done = (stop + given) / (len(stops) - 1)
                yield self._record(times[given], path[given])

    def _integrate(self, w: Tensor, times: list[float]) -> Tensor:
        covariances = [self.task.covariance(label) for label in range(self.task.classes)]
        if len(covariances) == 2:
            short, long = covariances
            return integrate_flow(w, times, short, long, self._amplify, tolerance=self.tolerance)

        def change(fields: Tensor) -> Tensor:
            return compute_class_velocity(fields, covariances, self._amplify)

        return integrate_velocity(w, times, change, tolerance=self.tolerance)

    def _stops(self) -> list[float]:
        whole = math.floor(self.time / self.record_every + 1e-9)
        stops = [self.record_every * index for index in range(whole + 1)]
        return stops if math.isclose(stops[-1], self.time) else [*stops, self.time]

    def _amplify(self, a: Tensor) -> Tensor:
        task = self.task
        if self.amplifier == "gaussian":
            return amplify_gaussian(a)
        if self.amplifier == "linear":
            return linearise_amplifier(task.amplifier)(a)
        return task.amplifier(a) if self.amplifier == "exact" else expand_amplifier(a, task.kurtosis())

    def _record(self, time: float, w: Tensor) -> Record:
        ipr = compute_ipr(w)
        return Record({"time": time, "ipr": float(ipr.mean())}, {"weights": w.clone(), "ipr": ipr})

    def seconds(self) -> float:
        # Measured on one core: φ is evaluated some 60 times at the start of a leg and 9 times in a unit of time; each
        # takes 20 µs and 40 ns for each weight, without a table 0.25 ms and 0.6 µs (Kur) to 4 µs (Student).
        # A table takes up to 0.2 s to make.
        evaluations = 60 * math.ceil(len(self._stops()) / LEG) + 9 * self.time
        weights = self.inits * self.task.sites
        tabulated = self.amplifier != "exact" or math.isfinite(self.task.kurtosis())
        return 0.1 + evaluations * ((2e-5 + 4e-8 * weights) if tabulated else (2.5e-4 + 2.5e-6 * weights))
