"""Weights of one layer from a user's file; nothing in the file is executed."""

from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from prunefield.core.errors import UsageError, unknown
from prunefield.core.files import cannot_read
from prunefield.core.sizes import check_safetensors
from prunefield.data.arrays import is_npy, read_arrays
from prunefield.masks.mask import Mask
from prunefield.measures.torch_files import check_torch_file


class Layer(NamedTuple):
    """A weight (units, inputs) in float32, its name in the file, and which of its entries are kept."""

    name: str
    weight: Tensor
    mask: Tensor


def read_layer(path: Path, shape: Sequence[int], name: str | None = None, mask: Path | None = None) -> Layer:
    """The layer `name`, or the first whose inputs have the shape, from .safetensors, .npy or a torch state dict.

    The kept weights are those of the file `mask` (from `Mask.save`, or .npy); else those of the mask that
    `torch.nn.utils.prune` has left in the file; else the non-zero ones.
    """
    state = read_state(path)
    flat = {key: item for key, item in state.items() if item.ndim == 2 and not key.endswith("_mask")}
    size, text = prod(shape), ",".join(map(str, shape))
    if name is None:
        fitting = [key for key, item in flat.items() if item.shape[1] == size]
        if not fitting:
            found = ", ".join(f"{key} {tuple(item.shape)}" for key, item in flat.items()) or "no matrix"
            raise UsageError(
                f"no layer in {path} has {size} inputs, as the shape {text} requires; set --shape (layers found: "
                f"{found})"
            )
        name = fitting[0]
    if name not in flat:
        raise unknown("layer", name, flat)
    if flat[name].shape[1] != size:
        raise UsageError(
            f"layer {name} has {flat[name].shape[1]} inputs, the shape {text} has {size}; set another --shape"
        )
    weight = check_plain(path, name, flat[name]).to(torch.float32)
    if not weight.numel():
        raise UsageError(f"layer {name} of {path} is empty")
    wrong = int((~weight.isfinite()).sum())
    if wrong:
        raise UsageError(f"layer {name} has {wrong} weights that are not finite, of {weight.numel()}; fix the file")
    left = find_mask(path, state, name)
    kept = weight != 0 if left is None else left != 0
    return Layer(name, weight, kept if mask is None else _read_mask(mask, name, weight))


def read_state(path: Path) -> dict[str, Tensor]:
    """All tensors of a file by name; the array of a .npy file is `weight`."""
    try:
        if path.suffix == ".safetensors":
            from safetensors.torch import load_file

            check_safetensors(path)
            return load_file(path)
        if is_npy(path):
            return {"weight": _read_array(path)}
        check_torch_file(path)
        state: Any = torch.load(path, map_location="cpu", weights_only=True)
    except UsageError:
        raise
    except OSError as error:
        raise cannot_read(path, error) from None
    except Exception:  # a damaged file may raise anything in three libraries
        message = f"{path} contains more than weights, or is damaged, and was not read; save net.state_dict()"
        raise UsageError(message) from None
    for key in ("state_dict", "model_state_dict", "model"):
        state = state.get(key, state) if isinstance(state, dict) else {}
    tensors = {key: item for key, item in state.items() if isinstance(item, Tensor)} if isinstance(state, dict) else {}
    if not tensors or not all(isinstance(key, str) for key in tensors):
        raise UsageError(f"{path} contains no named tensors; save net.state_dict()")
    wraps = ("module.", "_orig_mod.")  # of DataParallel and torch.compile
    wrap = next((wrap for wrap in wraps if all(key.startswith(wrap) for key in tensors)), "")
    return {key.removeprefix(wrap): item for key, item in tensors.items()}


def check_plain(path: Path, name: str, tensor: Tensor) -> Tensor:
    """The tensor, if it is a plain dense array of real numbers."""
    found = [
        ("has no values (device meta); load them first", tensor.is_meta),
        ("is quantized; save its dequantize()", tensor.is_quantized),
        ("is sparse; save its to_dense()", tensor.is_nested or tensor.layout != torch.strided),
        ("is complex; save its real numbers", tensor.is_complex()),
    ]
    for problem, true in found:
        if true:
            raise UsageError(f"layer {name} of {path} {problem}")
    return tensor


def find_mask(path: Path, state: Mapping[str, Tensor], name: str) -> Tensor | None:
    """The mask that `torch.nn.utils.prune` has stored with a weight."""
    key = f"{name.removesuffix('_orig')}_mask"
    left = state.get(key)
    if left is not None and check_plain(path, key, left).shape != state[name].shape:
        shapes = f"{tuple(left.shape)}, the weight {tuple(state[name].shape)}"
        raise UsageError(f"{key} of {path} has the shape {shapes}; save the state dict again")
    return left


def _read_array(path: Path) -> Tensor:
    array = read_arrays(path, ("weight",), width=4)["weight"]
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise UsageError(f"{path} must contain real numbers, not {array.dtype}")
    return torch.from_numpy(array.astype(array.dtype.newbyteorder("="), copy=False))


def _read_mask(path: Path, name: str, weight: Tensor) -> Tensor:
    kept = Mask({name: _read_array(path) != 0}) if is_npy(path) else Mask.load(path)
    short = name.removesuffix("_orig")
    if short not in kept and name not in kept:
        raise unknown("layer of the mask", short, kept)
    found = kept[short if short in kept else name]
    if found.shape != weight.shape:
        raise UsageError(
            f"the mask of {name} is {tuple(found.shape)}, the weight {tuple(weight.shape)}; create the mask again"
        )
    return found
