"""Where fields localise: the flow of one neuron for many laws, by kurtosis and ratio of lengthscales."""

from collections.abc import Callable, Iterator
from typing import Annotated, Literal

from pydantic import Field
from torch import Tensor

from prunefield.core.errors import UsageError
from prunefield.measures.localisation import compute_ipr
from prunefield.runs import Record, Run, State
from prunefield.runs.neuron import draw_initial_weights
from prunefield.tasks.kur import Kur, compute_moment
from prunefield.tasks.nlgp import Nlgp
from prunefield.theory.flow import integrate_flow

Laws = Literal["nlgp", "kur"]
LIMITS: dict[Laws, tuple[float, float]] = {"nlgp": (1e-3, 1e3), "kur": (4.05, 1e3)}


class Phases(Run):
    """Eq. 5 of lufkin2024 integrated for every pair of an excess kurtosis and a ratio ξ₁/ξ₀ of lengthscales.

    The law is NLGP(g) or Kur(k) with the g or k that has this kurtosis, and ξ₁ = `longest`. A record is one law:
    `parameter` is g or k, `ipr_n` the median IPR × N over initialisations at the end and `width` that of 1/IPR in
    sites; its tensor `weights` (N,) is the field of the first initialisation.
    """

    laws: Laws = Field(
        default="nlgp", description="the family of data: nlgp (excess kurtosis below 0) or kur (above −1.2)"
    )
    excesses: tuple[float, ...] = Field(
        default=(-1.9, -1.0, -0.1), min_length=1, description="values of the excess kurtosis κ − 3"
    )
    ratios: tuple[Annotated[float, Field(gt=1)], ...] = Field(
        default=(1.5, 3.0), min_length=1, description="ratios of the two lengthscales"
    )
    size: int = Field(default=100, ge=8, description="number of sites N on the ring")
    longest: float = Field(default=2.0, gt=0, description="lengthscale ξ₁ of class 1, in sites")
    inits: int = Field(default=3, ge=1, description="number of initialisations to integrate from")
    time: float = Field(default=300.0, gt=0, description="end time, in units of steps × learning rate")
    seed: int = Field(default=0, ge=0, description="seed of the initial weights")

    def make_task(self, excess: float, ratio: float) -> Nlgp | Kur:
        """The data with this kurtosis and this ratio of lengthscales."""
        same = {"size": self.size, "lengthscales": (self.longest / ratio, self.longest)}
        value = find_parameter(self.laws, excess)
        return Nlgp(g=value, **same) if self.laws == "nlgp" else Kur(k=value, **same)

    def __call__(self, state: State) -> Iterator[Record | None]:
        grid = [(excess, ratio) for excess in self.excesses for ratio in self.ratios]
        start = draw_initial_weights(self.seed, self.inits, self.size, 1e-3)
        amplifiers: dict[float, Callable[[Tensor], Tensor]] = {}
        for place in range(state.values.get("place", 0), len(grid)):
            excess, ratio = grid[place]
            task = self.make_task(excess, ratio)
            phi = amplifiers.setdefault(excess, task.amplifier)  # the same at all ratios, and so is its table
            w = integrate_flow(start, [0.0, self.time], task.covariance(0), task.covariance(1), phi)[-1]
            width = float((1 / compute_ipr(w)).median())
            state.values["place"], state.done = place + 1, (place + 1) / len(grid)
            parameter = task.g if isinstance(task, Nlgp) else task.k
            values = {"excess": excess, "ratio": ratio, "parameter": parameter, "width": width}
            yield Record({**values, "ipr_n": self.size / width}, {"weights": w[0].clone()})

    def seconds(self) -> float:
        # Measured on one core: 15 evaluations of φ in a unit of time, each 30 µs and 60 ns a weight; 0.1 s for a table.
        each = 0.1 + 15 * self.time * (3e-5 + 6e-8 * self.inits * self.size)
        return len(self.excesses) * len(self.ratios) * each


def find_parameter(laws: Laws, excess: float) -> float:
    """The g of NLGP(g) or the k of Kur(k) whose excess kurtosis is this, to six digits.

    >>> find_parameter("kur", 0.0)
    5.89012
    """
    from scipy.optimize import brentq

    def differ(value: float) -> float:
        if laws == "nlgp":
            return Nlgp(g=value, size=8, lengthscales=(0.3, 0.7)).kurtosis() - 3 - excess
        return compute_moment(value, 4) / compute_moment(value, 2) ** 2 - 3 - excess

    low, high = LIMITS[laws]
    if differ(low) < 0 or differ(high) > 0:
        least, most = (differ(end) + excess for end in (high, low))
        raise UsageError(f"{laws} cannot have the excess kurtosis {excess:g}; it can be {least:.3f} to {most:.3f}")
    return float(f"{brentq(differ, low, high, xtol=1e-12):.6g}")
