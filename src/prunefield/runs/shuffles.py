"""Norms of winning tickets at initialisation, compared with shuffled masks."""

import math
from collections.abc import Iterator
from typing import Annotated

import torch
from pydantic import Field

from prunefield.core import seeds
from prunefield.core.plugin import Nested
from prunefield.masks.mask import Mask, unpack_bits
from prunefield.runs import Record, Run, State
from prunefield.runs.tickets import Tickets
from prunefield.scores import find_prunable

CHUNK = 500  # masks between two safe points


class Shuffles(Run):
    """‖w0⊙m‖ of each layer for the masks of IMP and for shuffled ones with the same counts (bar2023, Fig. 2).

    One record for each level and layer: `norm`, that of one shuffled mask (`shuffled`), and the `expected` norm
    √(k·mean w0²) of k kept weights. At the last level the tensor `norms` has those of `masks` shuffled masks, and
    `below` is the share of them that are below the ticket's.
    """

    of: Annotated[Tickets, Nested()] = Field(description="the iterative pruning run")
    masks: int = Field(default=10_000, ge=1, description="number of shuffled masks at the last level")

    def __call__(self, state: State) -> Iterator[Record | None]:
        records = state.read(self.of).records
        first = {name: records[0].tensors[f"first:{name}"] for name in _outline(self.of)}
        cells = [(level, name) for level in range(len(records)) for name in first]
        for cell in range(state.values.get("cell", 0), len(cells)):
            level, name = cells[cell]
            squares = first[name].flatten().double().square()
            mask = unpack_bits(records[level].tensors[f"mask:{name}"], first[name].shape)
            kept = int(mask.sum())
            shuffled = Mask({name: mask}).shuffled(seeds.generator(self.of.seed, "shuffled", level, name))[name]
            values = {"level": level, "layer": name, "kept": kept, "weights": len(squares)}
            values |= {"density": records[level]["density"], "norm": _norm(squares, mask)}
            values |= {"shuffled": _norm(squares, shuffled), "expected": math.sqrt(kept * float(squares.mean()))}
            tensors = {}
            if level == self.of.levels:
                norms = state.tensor(f"norms:{name}", lambda: torch.zeros(self.masks, dtype=torch.float64))
                yield from self._shuffle(state, norms, squares, kept, name)
                values["below"] = float((norms < values["norm"]).double().mean())
                tensors["norms"] = norms.clone()
            state.values.update(cell=cell + 1, chunk=0)
            state.done = (cell + 1) / len(cells)
            yield Record(values, tensors)

    def _shuffle(
        self, state: State, norms: torch.Tensor, squares: torch.Tensor, kept: int, name: str
    ) -> Iterator[None]:
        """Fills `norms`, chunk by chunk; `choice` draws a few of many without shuffling all of them."""
        import numpy as np

        for chunk in range(state.values.get("chunk", 0), math.ceil(self.masks / CHUNK)):
            stream = np.random.default_rng(seeds.derive_seed(self.of.seed, "shuffles", name, chunk))
            values = squares.numpy()
            for place in range(chunk * CHUNK, min((chunk + 1) * CHUNK, self.masks)):
                drawn = stream.choice(len(values), kept, replace=False, shuffle=False)
                norms[place] = math.sqrt(values[drawn].sum())
            state.values["chunk"] = chunk + 1
            yield None


def _norm(squares: torch.Tensor, mask: torch.Tensor) -> float:
    return math.sqrt(float(squares[mask.flatten()].sum()))


def _outline(run: Tickets) -> dict[str, torch.Tensor]:
    """The prunable weights by name, without numbers."""
    return find_prunable(run.net.outline(run.task.shape, run.task.classes))
