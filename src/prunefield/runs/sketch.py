"""The bounds of Theorem 4.4 on random weights."""

from collections.abc import Iterator

import torch
from pydantic import Field

from prunefield.runs import Record, Run, State
from prunefield.theory.sketch_bounds import (
    gaussian_error,
    minimum_bound,
    printed_bound,
    sum_bound,
    uniform_error,
)

_ROUNDING = 1e-12  # a bound that is an equality may be missed by this fraction
COLUMNS = ("exact", "printed", "sum", "minimum", "uniform")


class Sketch(Run):
    """Draws w0 ~ N(0, I) and w⋆ = w0 + τ·N(0, I) and tests bar2023, Theorem 4.4 on each pair.

    Its one record counts how often the exact error exceeds the printed bound and the two corrected ones; its tensors
    hold, for each draw, the exact error, the bounds and the error of uniform masks. `uniform_ratio` is exact error
    over uniform error, `bounds_ratio` the printed bound over that of Lemma 4.5.
    """

    dimension: int = Field(default=100, ge=2, description="number of weights d")
    examples: int = Field(default=128, ge=1, description="number of examples n")
    kept: int = Field(default=1, ge=1, description="number of draws s of Algorithm 1")
    tau: float = Field(default=1.0, ge=0, description="how far training moves the weights: Δ ~ τ·N(0, I)")
    draws: int = Field(default=400, ge=1, description="number of weight pairs to draw")
    seed: int = Field(default=0, ge=0, description="seed of the weights")

    def __call__(self, state: State) -> Iterator[Record | None]:
        stream = state.generator(self.seed, "weights")
        rows = state.tensor("rows", lambda: torch.zeros(self.draws, len(COLUMNS), dtype=torch.float64))
        at_once = max(1, 200_000 // self.dimension)
        while (start := state.values.setdefault("drawn", 0)) < self.draws:
            shape = (min(at_once, self.draws - start), self.dimension)
            w0 = torch.randn(shape, dtype=torch.float64, generator=stream)
            w = w0 + self.tau * torch.randn(shape, dtype=torch.float64, generator=stream)
            rows[start : start + shape[0]] = torch.stack(
                [
                    gaussian_error(w0, w, self.kept, self.examples),
                    printed_bound(w0, w, self.kept),
                    sum_bound(w0, w, self.kept, self.examples),
                    minimum_bound(w0, w, self.kept),
                    uniform_error(w, self.kept),
                ],
                dim=-1,
            )
            state.values["drawn"] = start + shape[0]
            state.done = state.values["drawn"] / self.draws
            yield None
        if not state.values.get("recorded"):
            state.values["recorded"] = True
            yield self._summary(rows)

    def _summary(self, rows: torch.Tensor) -> Record:
        columns = dict(zip(COLUMNS, rows.T.contiguous(), strict=True))
        exact = columns["exact"]
        values: dict[str, float | int] = {"draws": self.draws}
        for bound in ("printed", "sum", "minimum"):
            ratio = exact / columns[bound]
            values[f"{bound}_failures"] = int((ratio > 1 + _ROUNDING).sum())
            values[f"{bound}_ratio_median"] = ratio.median().item()
            values[f"{bound}_ratio_max"] = ratio.max().item()  # the worst slack is 1 minus this
        ratio = exact / columns["uniform"]
        lemma = columns["uniform"] * self.dimension / (self.dimension - 1)
        values["uniform_losses"] = int((ratio > 1 + _ROUNDING).sum())
        values["uniform_ratio_median"] = ratio.median().item()
        values["bounds_ratio_median"] = (columns["printed"] / lemma).median().item()
        return Record(dict(values), {name: column.clone() for name, column in columns.items()})
