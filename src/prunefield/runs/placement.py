"""Where images lie in the phase diagram of one neuron: their kurtosis, lengthscales, and what the flow predicts."""

from collections.abc import Iterator
from typing import ClassVar

import torch
from pydantic import Field, model_validator

from prunefield.core import seeds
from prunefield.core.errors import UsageError
from prunefield.measures.covariances import measure_lengthscale
from prunefield.measures.prediction import DENSE, predict
from prunefield.runs import Record, Run, State
from prunefield.tasks import Task
from prunefield.tasks.leaves import Leaves


class Placement(Run):
    """`predict` on images at two zooms, which differ in their lengthscale (lufkin2024, §2.3, for images).

    Class 1 are patches of `side` pixels from the middle of grey images, class 0 every second pixel of patches of twice
    that side, from other images. Its one record has the excess kurtosis of a pixel with its interval (`low`, `high`),
    the `ratio` of lengthscales (√Σρ² over the lags of the plane), the `answer` of `predict` and what it rests on, the
    median IPR × N (`ipr_n`) and that for a straight φ (`straight`); its tensor is the first field.
    """

    version: ClassVar[int] = 2  # a `yes` of `predict` needs a force orthogonal to the pull

    task: Task = Field(default=Leaves(), description="where the images come from")
    side: int = Field(default=16, ge=4, description="pixels along each side of a patch")
    examples: int = Field(default=4000, ge=100, description="images of each class")
    seed: int = Field(default=0, ge=0, description="seed of the images, of the initial weights and of the resamples")

    @model_validator(mode="after")
    def _check_size(self) -> "Placement":
        shape = self.task.shape
        if len(shape) != 3 or min(shape[1:]) < 2 * self.side:
            raise UsageError(
                f"placement needs images (channels, height, width) of at least twice the side of {self.side} pixels, "
                f"not {shape}; lower side, or choose another task"
            )
        return self

    def __call__(self, state: State) -> Iterator[Record | None]:
        if state.values.get("recorded"):
            return
        images = self.task.sample(2 * self.examples, generator=seeds.generator(self.seed, "placement")).x
        near, far = cut_patches(images.view(-1, *self.task.shape).to(torch.float64), self.side)
        y = torch.arange(2).repeat_interleave(self.examples)
        found = predict(torch.cat([far, near]), y, (self.side, self.side), seed=self.seed)
        short, long = (measure_lengthscale(part) ** 0.5 for part in (far, near))
        state.values["recorded"], state.done = True, 1.0
        values = {
            "excess": found.excess.value,
            "low": found.excess.low,
            "high": found.excess.high,
            "ratio": long / short,
            "answer": found.answer,
            "leaning": found.leaning,
            "certainty": found.certainty,
            "ipr_n": float(found.concentration.median()),
            "straight": float(self.side**2 / found.straight.median()),
            "unmet": ", ".join(name for name, answer in found.properties.items() if not answer.met),
        }
        yield Record(values, {"weights": found.picture.clone()})

    def seconds(self) -> float:
        sites = self.side**2
        while sites > DENSE:  # `predict` uses every second row and column
            sites //= 4
        return 1.5 + 1.2e-4 * sites**2 + 2.5e-6 * sites * self.examples


def cut_patches(images: torch.Tensor, side: int) -> tuple[torch.Tensor, torch.Tensor]:
    """From grey versions of images (2n, channels, height, width): the middle of the first n, and the others at half
    their resolution, both (n, side, side).

    >>> near, far = cut_patches(torch.arange(32.0).view(2, 1, 4, 4), 2)
    >>> near.tolist(), far.tolist()
    ([[[5.0, 6.0], [9.0, 10.0]]], [[[16.0, 18.0], [24.0, 26.0]]])
    """
    first, second = images.mean(1).chunk(2)
    top, left = ((length - side) // 2 for length in first.shape[1:])
    outer, edge = ((length - 2 * side) // 2 for length in first.shape[1:])
    near = first[:, top : top + side, left : left + side]
    far = second[:, outer : outer + 2 * side : 2, edge : edge + 2 * side : 2]
    return near, far
