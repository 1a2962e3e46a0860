"""The steady state of a neuron on spins whose correlation lengths are a fixed share of the ring."""

import math
from collections.abc import Iterator
from typing import Any

import torch
from pydantic import Field

from prunefield.measures.localisation import compute_ipr
from prunefield.runs import Record, Run, State
from prunefield.tasks.ising import Ising
from prunefield.theory.fields import find_eigenvalues, measure_distances
from prunefield.theory.steady import find_steady

SITES = 40  # of the ring for which the couplings are given
WIDTH = 0.05  # of the bump that the search starts from, as a share of the ring


class Steady(Run):
    """Finds the bump w at which the flow of lufkin2024, Eq. 5 stands still, for the limit in Eq. 8.

    Couplings are stretched with the ring, so that correlation lengths stay the same share of it. Its one record has
    ∫u of u = N·w (`mean`), the IPR times N, and the largest |φ(Σ₁w/√(wᵀΣ₁w)) − f·(Σ₀ + Σ₁)w| with f = 1 (`whole`) and
    with f = ½, as printed (`half`), and the latter at 2w (`doubled`). Its tensor is `weights`.
    """

    size: int = Field(default=160, ge=SITES, description="number of sites N on the ring")
    couplings: tuple[float, float] = Field(default=(0.3, 0.7), description="coupling J of each class on 40 sites")

    def __call__(self, state: State) -> Iterator[Record | None]:
        if state.values.get("recorded"):
            return
        first, second = (math.atanh(math.tanh(coupling) ** (SITES / self.size)) for coupling in self.couplings)
        task = Ising(size=self.size, couplings=(first, second))
        short, long = task.covariance(0)[0], task.covariance(1)[0]
        bump = torch.exp(-((measure_distances(self.size) / self.size / WIDTH) ** 2)) / self.size
        w = find_steady(bump, short, long, task.amplifier, tolerance=1e-9).weights

        def balance(w: torch.Tensor, factor: float) -> float:
            modes = torch.fft.rfft(w)
            pulled, dragged = (
                torch.fft.irfft(find_eigenvalues(row) * modes, n=self.size) for row in (long, short + long)
            )
            return float((task.amplifier(pulled / (w * pulled).sum().sqrt()) - factor * dragged).abs().max())

        values: dict[str, Any] = {"mean": float(w.sum()), "ipr": float(compute_ipr(w)) * self.size}
        values |= {"whole": balance(w, 1.0), "half": balance(w, 0.5), "doubled": balance(2 * w, 0.5)}
        state.values["recorded"], state.done = True, 1.0
        yield Record(values, {"weights": w})
