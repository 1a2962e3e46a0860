"""The weights of one layer, from a network, a state dict or a user's file; nothing in a file is executed."""

from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from prunefield.core.errors import UsageError, list_names, unknown
from prunefield.core.files import cannot_read
from prunefield.core.sizes import check_safetensors
from prunefield.data.arrays import is_npy, read_arrays
from prunefield.masks.mask import Mask
from prunefield.measures.torch_files import check_torch_file
from prunefield.modules.holders import fill_weights
from prunefield.modules.naming import layer_weights

Matrix = Tensor | np.ndarray
NetworkOrFile = nn.Module | Mapping[str, Tensor] | Matrix | Path | str
KeptWeights = Mapping[str, Tensor] | Matrix | Path | str | None  # a mask, that of the layer, or a file of one


class Layer(NamedTuple):
    """A weight (units, inputs) in float32, with the name of its layer, and which of its entries are kept."""

    name: str
    weight: Tensor
    mask: Tensor


def find_layer(
    net: NetworkOrFile, name: str | None = None, shape: Sequence[int] | None = None, mask: KeptWeights = None
) -> Layer:
    """The linear layer `name` of a network, a state dict or a file, or the first whose inputs fit the shape.

    A layer may be named by itself or by its weight: `0` or `0.weight`. The kept weights are those of `mask`; else those
    of the mask that `torch.nn.utils.prune` has left; else the non-zero ones.
    """
    where, state = _open_network(net)
    flat = {key: item for key, item in state.items() if item.ndim == 2 and not key.endswith("_mask")}
    size, text = (None, "") if shape is None else (prod(shape), ",".join(map(str, shape)))
    if name is None:
        name = next((key for key, item in flat.items() if size in (None, item.shape[1])), None)
        if name is None:
            wanted = "is linear" if size is None else f"has {size} inputs, as the shape {text} requires"
            found = list_names([f"{key} {tuple(item.shape)}" for key, item in flat.items()]) or "no matrix"
            raise UsageError(f"no layer in {where} {wanted} (layers found: {found})")
        if not isinstance(net, nn.Module):  # which knows what its layers are
            _check_choice(where, state, flat, name)
    name = next((key for key in (name, f"{name}.weight", f"{name}.weight_orig") if key in state), name)
    if name in state and name not in flat:
        sides = tuple(state[name].shape)
        raise UsageError(
            f"layer {name} has the shape {sides}; only linear layers, whose weight is a matrix, are measured"
        )
    if name not in flat:
        raise unknown("layer", name, flat)
    if size not in (None, flat[name].shape[1]):
        raise UsageError(
            f"layer {name} has {flat[name].shape[1]} inputs, the shape {text} has {size}; change the shape"
        )
    weight = check_plain(where, name, flat[name]).detach().to("cpu", torch.float32)
    if not weight.numel():
        raise UsageError(f"layer {name} of {where} is empty")
    wrong = int((~weight.isfinite()).sum())
    if wrong:
        raise UsageError(f"layer {name} has {wrong} weights that are not finite in float32 (of {weight.numel()})")
    if mask is not None:
        return Layer(name, weight, _read_mask(mask, name, weight))
    left = find_mask(where, state, name)
    return Layer(name, weight, weight != 0 if left is None else left.cpu() != 0)


def _check_choice(where: str, state: Mapping[str, Tensor], flat: Mapping[str, Tensor], name: str) -> None:
    """Refuses the first matrix of a state dict that fits where it may be an embedding and another matrix is the layer.

    An embedding has no bias, and usually says in its name what it is.
    """
    width, others = flat[name].shape[1], [key for key in flat if key != name]
    biased = [key for key in others if flat[key].shape[1] == width and _has_bias(state, key)]
    is_named = any(part in name.lower() for part in ("emb", "wte", "wpe"))
    if others if is_named else biased and not _has_bias(state, name):
        fitting = biased or [key for key in others if flat[key].shape[1] == width] or others
        found = list_names([f"{key} {tuple(flat[key].shape)}" for key in (name, *fitting)])
        raise UsageError(
            f"the first matrix in {where} that fits, {name}, may be an embedding; name the layer, as in "
            f"--layer {fitting[0]} or layer={fitting[0]!r} (matrices: {found})"
        )


def _has_bias(state: Mapping[str, Tensor], name: str) -> bool:
    return f"{name.removesuffix('_orig').removesuffix('weight')}bias" in state


def _open_network(net: NetworkOrFile) -> tuple[str, Mapping[str, Tensor]]:
    """What a network is called in errors, and its tensors by name; of a module only its layers' weights and masks."""
    if isinstance(net, str | Path):
        return str(net), read_state(Path(net))
    if isinstance(net, nn.Module):
        check_filled(net)
        masks = {f"{name}_mask": kept for name, kept in Mask.from_module(net).items()}
        return "the network", {**fill_weights(net), **masks}
    if isinstance(net, Matrix):
        return "the network", {"weight": _read_matrix(net, "the network")}
    if not isinstance(net, Mapping):
        raise UsageError(f"a network must be a module, a state dict, a matrix or a file, not {type(net).__name__}")
    return "the state dict", {key: item for key, item in net.items() if isinstance(item, Tensor)}


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


def check_filled(net: nn.Module) -> None:
    """Refuses a network whose layers have no values yet."""
    for name, weight in layer_weights(net).items():
        if is_lazy(weight) or weight.is_meta:
            raise UsageError(f"the weight {name!r} has no values yet: call the network once, or load them")


def check_plain(path: Path | str, name: str, tensor: Tensor) -> Tensor:
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


def find_mask(path: Path | str, state: Mapping[str, Tensor], name: str) -> Tensor | None:
    """The mask that `torch.nn.utils.prune` has stored with a weight."""
    key = f"{name.removesuffix('_orig')}_mask"
    left = state.get(key)
    if left is not None and check_plain(path, key, left).shape != state[name].shape:
        shapes = f"{tuple(left.shape)}, the weight {tuple(state[name].shape)}"
        raise UsageError(f"{key} of {path} has the shape {shapes}; save the state dict again")
    return left


def _read_array(path: Path) -> Tensor:
    return _read_matrix(read_arrays(path, ("weight",), width=4)["weight"], path)


def _read_matrix(array: Matrix, path: Path | str) -> Tensor:
    if isinstance(array, Tensor):
        return array
    if array.dtype.kind not in "biuf" or array.dtype.itemsize > 8:
        raise UsageError(f"{path} must contain real numbers, not {array.dtype}")
    return torch.from_numpy(array.astype(array.dtype.newbyteorder("="), copy=False))


def _read_mask(mask: Mapping[str, Tensor] | Matrix | Path | str, name: str, weight: Tensor) -> Tensor:
    if isinstance(mask, str | Path):
        path = Path(mask)
        mask = {name: _read_array(path)} if is_npy(path) else Mask.load(path)
    if isinstance(mask, Matrix):
        mask = {name: _read_matrix(mask, "the mask")}
    if not isinstance(mask, Mapping):
        raise UsageError(f"a mask must be a Mask, a matrix or a file of one, not {type(mask).__name__}")
    short = name.removesuffix("_orig")
    if short not in mask and name not in mask:
        raise unknown("layer of the mask", short, mask)
    found = mask[short if short in mask else name]
    if found.is_floating_point() and bool(found.isnan().any()):
        raise UsageError(f"the mask of {name} contains NaN; its entries are 0 or 1")
    if found.shape != weight.shape:
        raise UsageError(
            f"the mask of {name} is {tuple(found.shape)}, the weight {tuple(weight.shape)}; create the mask again"
        )
    return found.cpu() != 0
