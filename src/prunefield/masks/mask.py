"""Masks: which weights are kept. A mask is a value outside the module, one boolean tensor per parameter name."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
import torch
from torch import Tensor, nn

from prunefield.core.errors import UsageError
from prunefield.core.files import write_whole
from prunefield.core.sizes import check_safetensors
from prunefield.masks.architecture import compare_shapes
from prunefield.masks.bits import copy_kept, digest_bits, pack_bits, unpack_bits
from prunefield.masks.selection import (
    Density,
    Reduction,
    Scope,
    check_scores,
    compute_probabilities,
    count_kept,
    draw_entries,
    gather_alive,
    keep_largest,
    scatter_alive,
    select_weights,
)
from prunefield.masks.sketches import draw_sketch
from prunefield.masks.summary import Summary, summarise_mask
from prunefield.modules.calls import Data
from prunefield.modules.holders import find_held, find_kept
from prunefield.modules.holding import Handle, hold_zeros, set_zeros
from prunefield.modules.naming import layer_weights, name_parameters, walk_modules

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

__all__ = ["Density", "Mask", "count_kept", "keep_largest", "pack_bits", "unpack_bits"]
_FORMAT = 2  # since which the checksum covers names and shapes, too
_HEADER = "prunefield-mask"  # the one key of the file's metadata: a single key keeps the file's bytes reproducible


class Mask(Mapping[str, Tensor]):
    """True where a weight is kept; keys are parameter names, tensors are boolean, on the CPU, of the weights' shapes.

    >>> mask = Mask.keep({"weight": torch.tensor([[0.3, 0.1], [0.2, 0.3]])}, density=0.5)
    >>> mask["weight"].tolist(), mask.density
    ([[True, False], [False, True]], 0.5)
    """

    def __init__(self, kept: Mapping[str, Tensor]) -> None:
        self._kept = copy_kept(kept)

    @classmethod
    def keep(
        cls,
        scores: Mapping[str, Tensor],
        density: Density,
        *,
        scope: Scope = "global",
        start: "Mask | None" = None,
        floor: int = 0,
    ) -> Self:
        """Keeps the largest scores: N − int((1 − density)·N) of all N weights, allocated to the layers by `scope`.

        `global`: one threshold. `layer`: the rule above for each layer. `uniform` and `erk`:
        `selection.allocate_weights`. Of equal scores the one with the lower index is kept (layers in the order of
        `scores`), so that a mask of lower density is contained in every denser one of the same scores. What `start` has
        pruned stays pruned, and no layer keeps fewer than `floor` weights (or all that it has). A layer whose scores
        are all zero is refused, as they could only be ranked by index; with `start`, which may have disconnected the
        layer, it is accepted.
        """
        flat, alive = check_scores(scores, dead=start is not None), _alive(scores, start)
        kept = select_weights(flat, density, scope=scope, shapes=_shapes(scores), alive=alive, floor=floor)
        return cls({name: part.reshape(scores[name].shape) for name, part in kept.items()})

    @classmethod
    def sample(
        cls,
        scores: Mapping[str, Tensor],
        density: Density,
        *,
        generator: torch.Generator,
        scope: Scope = "global",
        start: "Mask | None" = None,
        floor: int = 0,
        reduce: Reduction | None = None,
        alpha: float = 0.0,
    ) -> Self:
        """Draws a mask at random with the layer counts of `keep`: the three steps of bar2023, Section 8.

        (1) a global threshold, (2) the survivors n_ℓ of each layer, (3) in each layer n_ℓ weights one after the other
        without replacement, each with a probability ∝ its score among those that are left. `reduce` turns signed scores
        into probabilities, `alpha` mixes them with uniform ones (`selection.compute_probabilities`). A layer with
        fewer than n_ℓ positive probabilities is filled up by index, with a warning.
        """
        flat, alive = check_scores(scores, dead=start is not None), _alive(scores, start)
        hard = select_weights(flat, density, scope=scope, shapes=_shapes(scores), alive=alive, floor=floor)
        kept = {}
        for name, values in flat.items():
            number, where = int(np.count_nonzero(hard[name])), alive.get(name)
            part = compute_probabilities(gather_alive(values, where), name, reduce, alpha)
            drawn = scatter_alive(draw_entries(part, number, name, generator=generator), where)
            kept[name] = drawn.reshape(scores[name].shape)
        return cls(kept)

    sketch = staticmethod(draw_sketch)

    @classmethod
    def from_module(cls, net: nn.Module) -> Self:
        """The masks of `torch.nn.utils.prune` in `net`, else its non-zero layer weights; what compact layers keep."""
        held, kept = find_kept(net), dict[str, Tensor]()
        for path, module in walk_modules(net):
            for key, part in module._buffers.items():
                name = key.removesuffix("_mask")
                if part is not None and key.endswith("_mask") and f"{name}_orig" in module._parameters:
                    kept[f"{path}.{name}" if path else name] = part != 0
        return cls((kept or {name: weight.detach() != 0 for name, weight in layer_weights(net).items()}) | held)

    def __getitem__(self, name: str) -> Tensor:
        return self._kept[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)

    def __repr__(self) -> str:
        kept = sum(self.counts().values())
        layers = f"{len(self)} layer{'s' * (len(self) != 1)}"
        return f"Mask({layers}, {kept:,} of {self.total:,} weights, density {self.density:.4g})"

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mask):
            return NotImplemented
        return self.keys() == other.keys() and all(torch.equal(kept, other[name]) for name, kept in self.items())

    def __and__(self, other: "Mask") -> "Mask":
        """Keeps what both keep; both must belong to the same architecture."""
        if not isinstance(other, Mask):
            return NotImplemented
        compare_shapes(self, {name: kept.shape for name, kept in other.items()}, "the other mask")
        compare_shapes(other, {name: kept.shape for name, kept in self.items()}, "the first mask")
        return Mask({name: kept & other[name] for name, kept in self.items()})

    @property
    def total(self) -> int:
        """How many weights there are."""
        return sum(kept.numel() for kept in self.values())

    @property
    def density(self) -> float:
        """The kept fraction of all weights."""
        return sum(self.counts().values()) / max(self.total, 1)

    def counts(self) -> dict[str, int]:
        """How many weights each layer keeps."""
        return {name: int(np.count_nonzero(kept)) for name, kept in self.items()}

    def per_layer(self) -> dict[str, float]:
        """The density of each layer."""
        return {name: number / max(self[name].numel(), 1) for name, number in self.counts().items()}

    def summary(
        self, net: nn.Module | None = None, *, shape: Sequence[int] | None = None, data: Data = None
    ) -> Summary:
        """Weights, kept weights and density of each layer, as a table that prints and draws itself.

        A network adds how many parameters there are in all; the shape of one input, or data as `prune` takes them, add
        the operations (`flops`) of each layer for one input, dense and pruned.

        >>> net = nn.Sequential(nn.Linear(4, 2), nn.ReLU(), nn.Linear(2, 1))
        >>> print(Mask.keep({"0.weight": net[0].weight.abs()}, 0.25).summary(net, shape=(4,)))
        2 of 8 weights, density 0.25; 13 parameters in all; 8 of 20 operations for one input
           layer  weights  kept  density  flops  kept_flops
        0.weight        8     2     0.25     16           4
        """
        if net is not None:
            self._pairs(net)
        return summarise_mask(self, net, shape, data)

    def frame(self) -> "DataFrame":
        """Weights, kept weights and density of each layer, as a tidy table."""
        return self.summary().frame()

    def plot(self) -> "Figure":
        """The density of each layer, as a figure of matplotlib."""
        return self.summary().plot()

    def shuffled(self, generator: torch.Generator) -> "Mask":
        """A uniformly random mask with the same count in each layer."""
        orders = {name: torch.randperm(kept.numel(), generator=generator) for name, kept in self.items()}
        return Mask({name: kept.flatten()[orders[name]].reshape(kept.shape) for name, kept in self.items()})

    def apply_(self, net: nn.Module) -> None:
        """Sets the pruned weights of `net` to zero, in place; weights that the mask does not name are left alone."""
        set_zeros(self._pairs(net))

    def hold_(self, net: nn.Module, *optimizers: torch.optim.Optimizer) -> Handle:
        """Applies the mask now and after every step of the optimizers, so that pruned weights are zero and stay zero.

        Momentum, Adam and weight decay may move them within a step, which is invisible from outside. Together the
        optimizers must update every weight of the mask that is not frozen. `handle.remove()` detaches the mask.

        >>> net = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
        >>> slow, fast = (torch.optim.Adam(part.parameters()) for part in (net[0], net[2]))
        >>> Mask.from_module(net).hold_(net, slow, fast).remove()
        """
        held = find_held(net, self)
        return hold_zeros([name for name in self if name not in held], self._pairs(net), optimizers)

    def _pairs(self, net: nn.Module) -> list[tuple[Tensor, Tensor]]:
        """Each weight that the mask names, with True where it is kept."""
        weights, held = name_parameters(net), find_held(net, self)
        shapes = {name: weight.shape for name, weight in weights.items()}
        compare_shapes(self, shapes | held, "the network")
        own = [(name, kept) for name, kept in self.items() if name not in held]
        return [(weights[name], kept.to(weights[name].device)) for name, kept in own]

    def to_torch_prune(self, net: nn.Module) -> None:
        """Attaches the mask to `net` as `torch.nn.utils.prune` does; `from_module` reads it back."""
        from torch.nn.utils import prune

        shapes = {name.removesuffix("_orig"): weight.shape for name, weight in name_parameters(net).items()}
        compare_shapes(self, shapes, "the network")
        modules = dict(walk_modules(net))
        for name, kept in self.items():
            path, _, leaf = name.rpartition(".")
            module = modules[path]
            prune.custom_from_mask(module, leaf, kept.to(getattr(module, leaf).device))

    def save(self, path: str | Path) -> None:
        """Writes the mask completely or not at all, one bit per weight, as a safetensors file."""
        from safetensors.torch import save

        bits = {name: pack_bits(kept) for name, kept in self.items()}
        shapes = {name: list(kept.shape) for name, kept in self.items()}
        header = {"format": _FORMAT, "shapes": shapes, "sha256": digest_bits(bits, shapes)}
        write_whole(Path(path), save(bits, metadata={_HEADER: json.dumps(header)}))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Reads a mask that `save` wrote."""
        from safetensors import SafetensorError, safe_open

        check_safetensors(Path(path))
        try:
            with safe_open(path, framework="pt") as file:
                header = json.loads((file.metadata() or {})[_HEADER])
                shapes, digest, made = header["shapes"], header["sha256"], header.get("format", 1)
                if not all(isinstance(shape, list) for shape in shapes.values()):
                    raise ValueError("a shape is a list")
                bits = {name: file.get_tensor(name) for name in shapes}
        except KeyError:
            raise UsageError(f"{path} is a safetensors file but not a mask; masks are written by Mask.save") from None
        except (SafetensorError, OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
            raise UsageError(f"{path} is truncated or not a mask written by Mask.save ({error})") from None
        if made not in (1, _FORMAT):
            raise UsageError(
                f"{path} is a mask of format {made!r}; this version of prunefield reads formats 1 and {_FORMAT}: "
                "upgrade it"
            )
        if digest_bits(bits, shapes if made == _FORMAT else None) != digest:
            raise UsageError(f"{path} is damaged: its bits are not those that were written; create the mask again")
        try:
            return cls({name: unpack_bits(bits[name], shape) for name, shape in shapes.items()})
        except UsageError as error:
            raise UsageError(f"{path} is damaged: {error}; create the mask again") from None


def _shapes(scores: Mapping[str, Tensor]) -> dict[str, torch.Size]:
    return {name: score.shape for name, score in scores.items()}


def _alive(scores: Mapping[str, Tensor], start: Mask | None) -> dict[str, Tensor]:
    """The flat masks of the layers of which `start` has pruned something."""
    if start is None:
        return {}
    known = {name: kept for name, kept in start.items() if name in scores}
    compare_shapes(known, _shapes(scores), "the scores")
    return {name: kept.flatten() for name, kept in known.items() if not kept.numpy().all()}
