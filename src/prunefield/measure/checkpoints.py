"""Weights of one layer out of a file of somebody's own; nothing in the file is executed."""

from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from prunefield.errors import UsageError, unknown
from prunefield.masks import Mask


class Layer(NamedTuple):
    """A weight (units, inputs) in float32, with the name it has in its file, and which of its entries are kept."""

    name: str
    weight: Tensor
    mask: Tensor


def read_layer(path: Path, shape: Sequence[int], name: str | None = None, mask: Path | None = None) -> Layer:
    """The layer `name`, or the first whose inputs have the shape, from .safetensors, .npy or a torch state dict.

    Kept is what the file `mask` keeps (of `Mask.save`, or .npy); else what `torch.nn.utils.prune` has left in the
    file; else what is not zero.
    """
    state = read_state(path)
    flat = {key: item for key, item in state.items() if item.ndim == 2 and not key.endswith("_mask")}
    size, text = prod(shape), ",".join(map(str, shape))
    if name is None:
        fitting = [key for key, item in flat.items() if item.shape[1] == size]
        if not fitting:
            found = ", ".join(f"{key} {tuple(item.shape)}" for key, item in flat.items()) or "no matrix"
            raise UsageError(
                f"no layer in {path} has {size} inputs, the shape {text}; give --shape (there are: {found})"
            )
        name = fitting[0]
    if name not in flat:
        raise unknown("layer", name, flat)
    weight = flat[name].to(torch.float32)
    if weight.shape[1] != size:
        raise UsageError(
            f"layer {name} has {weight.shape[1]} inputs, the shape {text} has {size}; give another --shape"
        )
    wrong = int((~weight.isfinite()).sum())
    if wrong:
        raise UsageError(f"layer {name} has {wrong} weights that are not finite, of {weight.numel()}; mend the file")
    left = state.get(f"{name.removesuffix('_orig')}_mask")
    kept = weight != 0 if left is None else left != 0
    return Layer(name, weight, kept if mask is None else _read_mask(mask, name, weight))


def read_state(path: Path) -> dict[str, Tensor]:
    """All tensors of a file by name; the array of a .npy file is `weight`."""
    try:
        if path.suffix == ".npy":
            return {"weight": _read_array(path)}
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            return load_file(path)
        state: Any = torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise UsageError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    except UsageError:
        raise
    except Exception:  # what a damaged file raises is up to three libraries
        message = f"{path} holds more than weights, or is damaged, and is not read; save net.state_dict()"
        raise UsageError(message) from None
    for key in ("state_dict", "model_state_dict", "model"):
        state = state.get(key, state) if isinstance(state, dict) else {}
    tensors = {key: item for key, item in state.items() if isinstance(item, Tensor)} if isinstance(state, dict) else {}
    if not tensors:
        raise UsageError(f"{path} holds no tensors by name; save net.state_dict()")
    wraps = ("module.", "_orig_mod.")  # of DataParallel and torch.compile
    wrap = next((wrap for wrap in wraps if all(key.startswith(wrap) for key in tensors)), "")
    return {key.removeprefix(wrap): item for key, item in tensors.items()}


def _read_array(path: Path) -> Tensor:
    array = np.load(path, allow_pickle=False)  # a pickle could execute code
    if array.dtype.kind not in "biuf":
        raise UsageError(f"{path} must hold real numbers, got {array.dtype}")
    return torch.from_numpy(array)


def _read_mask(path: Path, name: str, weight: Tensor) -> Tensor:
    kept = Mask({name: read_state(path)["weight"] != 0}) if path.suffix == ".npy" else Mask.load(path)
    short = name.removesuffix("_orig")
    if short not in kept and name not in kept:
        raise unknown("layer of the mask", short, kept)
    found = kept[short if short in kept else name]
    if found.shape != weight.shape:
        raise UsageError(f"the mask of {name} is {tuple(found.shape)}, the weight {tuple(weight.shape)}; make it again")
    return found
