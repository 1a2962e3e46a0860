"""Independent components of a task's inputs, by FastICA."""

import math
from collections.abc import Iterator

from pydantic import Field, model_validator

from prunefield.core.errors import UsageError
from prunefield.measures.components import find_sources
from prunefield.measures.localisation import compute_ipr
from prunefield.runs import Record, Run, State
from prunefield.tasks import Task


class Ica(Run):
    """FastICA of scikit-learn on examples of all classes (lufkin2024, §4.4, Fig. 1 and Fig. 6 right).

    All components are sought side by side (`parallel`), of unit variance, with its default contrast log cosh. The one
    record holds `components` (components, N), the filters that are applied to the inputs, and their `ipr`
    (components,); `converged` says whether it converged within `iterations`.
    """

    task: Task = Field(description="where the inputs come from; labels are not used")
    seed: int = Field(default=0, ge=0, description="seed of the data and of the initial directions")
    components: int = Field(default=40, ge=1, description="number of components")
    samples: int = Field(default=100_000, ge=2, description="number of inputs")
    iterations: int = Field(default=200, ge=1, description="maximum number of iterations")

    @model_validator(mode="after")
    def _check(self) -> "Ica":
        most = min(math.prod(self.task.shape), self.samples)
        if self.components > most:
            raise UsageError(
                f"components must be at most {most}, the number of sites or samples (got {self.components})"
            )
        return self

    def __call__(self, state: State) -> Iterator[Record | None]:
        if "done" in state.values:
            return
        x = self.task.sample(self.samples, generator=state.generator(self.seed, "data")).x
        found = find_sources(x, self.components, iterations=self.iterations, seed=self.seed)
        ipr = compute_ipr(found.filters)
        state.values["done"] = True
        state.done = 1.0
        values = {"converged": found.converged, "iterations": found.iterations, "ipr": float(ipr.mean())}
        yield Record(values, {"components": found.filters, "ipr": ipr})

    def seconds(self) -> float:
        # Measured on one core: 1 s for the import; for each input, component and iteration 20 ns and 0.2 ns for each
        # site. Some 50 iterations where there is something to find, all of them where there is not: here 100.
        size = math.prod(self.task.shape)
        return 1 + self.samples * (
            size * 6e-8 + size * size * 1e-9 + min(100, self.iterations) * self.components * (2e-8 + 2e-10 * size)
        )
