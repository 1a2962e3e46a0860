"""Principal and independent components of a task's held-out images."""

import math
from collections.abc import Iterator

from pydantic import Field, model_validator

from prunefield.core import seeds
from prunefield.core.errors import UsageError
from prunefield.measures.components import find_components, rate_locality, rate_periodicity
from prunefield.runs import Record, Run, State
from prunefield.tasks import Task

PARTS = ("pca", "ica", "mixed")


class Components(Run):
    """PCA and FastICA of held-out images (redman2025, App. B, Figs 2 and S2).

    One record per `part` (pca, ica, and as a null mixed: see `measures.components`). Tensors: the filters `components`
    (components, N), and of each how local and how periodic it is. `explained` is the share of the variance that the
    first components hold; `converged` and `iterations` are those of FastICA.
    """

    task: Task = Field(description="where the images come from")
    seed: int = Field(default=0, ge=0, description="seed of the images and of the initial directions")
    components: int = Field(default=64, ge=1, description="number of components")
    samples: int = Field(default=50_000, ge=2, description="number of held-out images")
    iterations: int = Field(default=200, ge=1, description="maximum number of FastICA iterations")

    @model_validator(mode="after")
    def _check(self) -> "Components":
        most = min(math.prod(self.task.shape), self.samples)
        if self.components > most:
            raise UsageError(
                f"components must be at most {most}, the number of inputs or samples (got {self.components})"
            )
        if len(self.task.shape) != 3:
            raise UsageError(
                f"components need a task of images (channels, height, width), not inputs of shape {self.task.shape}"
            )
        return self

    def __call__(self, state: State) -> Iterator[Record | None]:
        if (begun := state.values.get("done", 0)) == len(PARTS):
            return
        x = self.task.held_out(self.samples, generator=seeds.generator(self.seed, "data")).x
        found = find_components(x, self.components, iterations=self.iterations, seed=self.seed)
        filters = {"pca": found.pca, "ica": found.ica.filters, "mixed": found.mixed}
        for place, part in enumerate(PARTS[begun:], start=begun):
            fields = filters[part].view(-1, *self.task.shape)
            values = {"part": part, "explained": found.explained}
            if part == "ica":
                values |= {"converged": found.ica.converged, "iterations": found.ica.iterations}
            tensors = {"local": rate_locality(fields), "periodic": rate_periodicity(fields)}
            state.values["done"] = place + 1
            state.done = (place + 1) / len(PARTS)
            yield Record(values, {"components": filters[part].contiguous(), **tensors})
