"""Masks: which weights are kept. A mask is a value outside the module, one boolean tensor per parameter name."""

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from math import prod
from pathlib import Path
from typing import Literal, Self

import numpy as np
import torch
from torch import Tensor, nn

from prunefield.errors import UsageError, unknown
from prunefield.files import checksum, write_whole
from prunefield.scores import prunable

Density = float | Fraction | Decimal
_HEADER = "prunefield-mask"  # the one key of the file's metadata: a single key keeps the file's bytes reproducible


class Mask(Mapping[str, Tensor]):
    """True where a weight is kept; keys are parameter names, tensors are boolean, on the CPU, of the weights' shapes.

    >>> mask = Mask.keep({"weight": torch.tensor([[0.3, 0.1], [0.2, 0.3]])}, density=0.5)
    >>> mask["weight"].tolist(), mask.density
    ([[True, False], [False, True]], 0.5)
    """

    def __init__(self, kept: Mapping[str, Tensor]) -> None:
        for name, tensor in kept.items():
            if tensor.dtype != torch.bool:
                raise UsageError(f"a mask holds boolean tensors, {name!r} is {tensor.dtype}; write `tensor != 0`")
        self._kept = {name: tensor.detach().cpu().clone() for name, tensor in kept.items()}

    @classmethod
    def keep(
        cls, scores: Mapping[str, Tensor], density: Density, *, scope: Literal["global", "layer"] = "global"
    ) -> Self:
        """Keeps the largest scores: N − int((1 − density)·N) of all N weights, or of each layer's.

        Of equal scores the one with the lower index stays (layers in the order of `scores`), so that a mask of lower
        density is contained in every denser one of the same scores.
        """
        flat = _checked(scores)
        if scope == "layer":
            kept = {name: largest(values, count(len(values), density)) for name, values in flat.items()}
        elif scope == "global":
            joined = torch.cat(list(flat.values()))
            parts = largest(joined, count(len(joined), density)).split([len(values) for values in flat.values()])
            kept = dict(zip(flat, parts, strict=True))
        else:
            raise unknown("scope", scope, ("global", "layer"))
        return cls({name: part.reshape(scores[name].shape) for name, part in kept.items()})

    @classmethod
    def sample(cls, scores: Mapping[str, Tensor], density: Density, *, generator: torch.Generator) -> Self:
        """Draws a mask at random with the layer counts of `keep`: the three steps of bar2023, Section 8.

        (1) a global threshold, (2) the survivors n_ℓ of each layer, (3) in each layer n_ℓ weights one after the other
        without replacement, each with a chance ∝ its score among those that are left. A layer with fewer than n_ℓ
        positive scores is topped up by index, with a warning.
        """
        kept = {}
        for name, number in cls.keep(scores, density).counts().items():
            values = scores[name].detach().flatten().cpu()
            if (values < 0).any():
                raise UsageError(f"sampling needs scores ≥ 0, {name!r} has negative ones; take `abs()` or shift them")
            positive = int(torch.count_nonzero(values))
            if positive < number:
                message = f"{name!r}: only {positive} of {values.numel()} scores are positive, "
                warnings.warn(f"{message}{number - positive} weights are kept by index", stacklevel=2)
            # Gumbel top-k without logarithms: log s + Gumbel and s / Exponential have the same order. Double
            # precision, because single-precision noise ties among millions of weights.
            noise = torch.empty(values.numel(), dtype=torch.float64, device=generator.device)
            noise = noise.exponential_(generator=generator).clamp_(min=1e-300).cpu()
            scale = values.max().double().clamp(min=1) if positive else 1.0  # so that nothing overflows
            keys = torch.div(values, noise.mul_(scale), out=noise)
            kept[name] = largest(keys, number).reshape(scores[name].shape)
        return cls(kept)

    @classmethod
    def from_module(cls, net: nn.Module) -> Self:
        """The masks of `torch.nn.utils.prune` in `net`; without any, its non-zero linear and convolution weights."""
        state = net.state_dict()
        names = [key.removesuffix("_mask") for key in state if key.endswith("_mask")]
        kept = {name: state[f"{name}_mask"] != 0 for name in names if f"{name}_orig" in state}
        return cls(kept or {name: weight.detach() != 0 for name, weight in prunable(net).items()})

    def __getitem__(self, name: str) -> Tensor:
        return self._kept[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)

    def __repr__(self) -> str:
        return f"Mask({len(self)} layers, {sum(self.counts().values())} of {self.total} weights)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mask):
            return NotImplemented
        return self.keys() == other.keys() and all(torch.equal(kept, other[name]) for name, kept in self.items())

    def __and__(self, other: "Mask") -> "Mask":
        """Keeps what both keep; both must be of the same architecture."""
        _compare(self, {name: kept.shape for name, kept in other.items()}, "the other mask")
        _compare(other, {name: kept.shape for name, kept in self.items()}, "the first mask")
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
        return {name: int(torch.count_nonzero(kept)) for name, kept in self.items()}

    def per_layer(self) -> dict[str, float]:
        """The density of each layer."""
        return {name: number / max(self[name].numel(), 1) for name, number in self.counts().items()}

    def shuffled(self, generator: torch.Generator) -> "Mask":
        """A uniformly random mask with the same count in each layer."""
        return Mask(
            {
                name: kept.flatten()[torch.randperm(kept.numel(), generator=generator)].reshape(kept.shape)
                for name, kept in self.items()
            }
        )

    def apply_(self, net: nn.Module) -> None:
        """Sets the pruned weights of `net` to zero, in place; weights that the mask does not name stay."""
        weights = dict(net.named_parameters())
        _compare(self, {name: weight.shape for name, weight in weights.items()}, "the network")
        with torch.no_grad():
            for name, kept in self.items():
                weights[name].masked_fill_(~kept.to(weights[name].device), 0)

    def to_torch_prune(self, net: nn.Module) -> None:
        """Attaches the mask to `net` as `torch.nn.utils.prune` does; `from_module` reads it back."""
        from torch.nn.utils import prune

        shapes = {name.removesuffix("_orig"): weight.shape for name, weight in net.named_parameters()}
        _compare(self, shapes, "the network")
        for name, kept in self.items():
            path, _, leaf = name.rpartition(".")
            module = net.get_submodule(path)
            prune.custom_from_mask(module, leaf, kept.to(getattr(module, leaf).device))

    def save(self, path: str | Path) -> None:
        """Writes the mask whole or not at all, one bit per weight, as a safetensors file."""
        from safetensors.torch import save

        bits = {name: pack(kept) for name, kept in self.items()}
        header = {"shapes": {name: list(kept.shape) for name, kept in self.items()}, "sha256": _digest(bits)}
        write_whole(Path(path), save(bits, metadata={_HEADER: json.dumps(header)}))

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Reads a mask that `save` wrote."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, framework="pt") as file:
                header = json.loads((file.metadata() or {})[_HEADER])
                bits = {name: file.get_tensor(name) for name in header["shapes"]}
        except OSError as error:
            raise UsageError(f"cannot read the mask {path}: {error.strerror or error}") from None
        except KeyError:
            raise UsageError(f"{path} is a safetensors file but not a mask; masks are written by Mask.save") from None
        except (SafetensorError, ValueError) as error:
            raise UsageError(f"{path} is cut short or not a mask of Mask.save ({error})") from None
        if _digest(bits) != header["sha256"]:
            raise UsageError(f"{path} is damaged: its bits are not those that were written; make the mask again")
        return cls({name: unpack(bits[name], shape) for name, shape in header["shapes"].items()})


def count(size: int, density: Density) -> int:
    """How many of `size` weights a density keeps: size − int((1 − density)·size), in exact arithmetic.

    >>> count(276_656, 0.1), count(10, 0.9)  # in floats, (1 − 0.9)·10 is just below 1 and nothing would be pruned
    (27666, 9)
    """
    try:
        exact = Fraction(str(density))  # the decimal that was written, not the nearest binary number
    except ValueError:
        exact = Fraction(0)
    if not 0 < exact <= 1:
        raise UsageError(f"density is the kept fraction, above 0 and at most 1, got {density}")
    return size - int((1 - exact) * size)


def _checked(scores: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The scores, flat, of one type that orders them without loss."""
    if not sum(score.numel() for score in scores.values()):
        raise UsageError("there are no weights to prune: the scores are empty")
    wide = any(score.dtype not in (torch.float32, torch.float16, torch.bfloat16) for score in scores.values())
    flat = {}
    for name, score in scores.items():
        values = score.detach().flatten().to("cpu", torch.float64 if wide else torch.float32)
        if not torch.isfinite(values).all():
            raise UsageError(f"the scores of {name!r} are not all finite; look for an overflow in the network")
        flat[name] = values
    return flat


def largest(values: Tensor, number: int) -> Tensor:
    """True at the `number` largest of flat values; of equal ones at those with the lower index.

    >>> largest(torch.tensor([1.0, 2.0, 1.0, 1.0]), 2).tolist()
    [True, True, False, False]
    """
    array = values.detach().cpu().numpy()
    if number == 0:
        return torch.zeros(array.shape, dtype=torch.bool)
    threshold = np.partition(array, array.size - number)[array.size - number]
    kept = array > threshold
    ties = np.flatnonzero(array == threshold)
    kept[ties[: number - np.count_nonzero(kept)]] = True
    return torch.from_numpy(kept)


def pack(kept: Tensor) -> Tensor:
    """Eight entries of a boolean tensor in a byte."""
    return torch.from_numpy(np.packbits(kept.cpu().numpy()))


def unpack(bits: Tensor, shape: Sequence[int]) -> Tensor:
    """The boolean tensor of a shape that `pack` has packed.

    >>> unpack(pack(torch.tensor([[True, False, True]])), (1, 3)).tolist()
    [[True, False, True]]
    """
    return torch.from_numpy(np.unpackbits(bits.numpy(), count=prod(shape)).astype(bool)).reshape(*shape)


def _compare(mask: Mapping[str, Tensor], shapes: Mapping[str, torch.Size], what: str) -> None:
    """Refuses a mask whose names or shapes `shapes` does not have."""
    wrong = [
        f"{name} is {tuple(kept.shape)} in the mask, {tuple(shapes[name]) if name in shapes else 'missing'} in {what}"
        for name, kept in mask.items()
        if shapes.get(name) != kept.shape
    ]
    if wrong:
        raise UsageError(f"the mask is for another architecture: {'; '.join(wrong)}")


def _digest(bits: Mapping[str, Tensor]) -> str:
    return checksum(b"".join(part.numpy().tobytes() for part in bits.values()))
