"""States and records as bytes: safetensors with the plain values in the header, and a checksum that reveals any
damage.
"""

import ctypes
import json
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.numpy import save
from safetensors.torch import load
from safetensors.torch import save as save_torch
from torch import Tensor

from prunefield.core.errors import StoreError
from prunefield.core.files import checksum
from prunefield.runs import Record, State

SEAL = b'"seal":"'  # a quotation mark inside of the values is escaped, so this occurs only where we put it
BLANK = b"0" * 64


class SafePoint(NamedTuple):
    """Everything that a run needs to continue: values and tensors of its state, and the records so far."""

    values: dict[str, Any]
    tensors: dict[str, Tensor]
    records: list[Record]


def pack_safe_point(run: str, state: State, records: list[Record]) -> bytearray:
    """A safe point of the run with this name. Its seal is the SHA-256 of all its bytes, those of the seal blank."""
    tensors = {f"state/{key}": tensor for key, tensor in state.snapshot().items()}
    tensors |= {f"records/{key}": tensor for key, tensor in name_tensors(records).items()}
    values = {"run": run, "state": state.values, "records": [record.values for record in records], "done": state.done}
    data = bytearray(pack_tensors(tensors, {"values": dump_values(values), "seal": BLANK.decode()}))
    at = data.index(SEAL + BLANK) + len(SEAL)
    data[at : at + len(BLANK)] = checksum(data).encode()
    return data


def measure_safe_point(run: str, data: bytes) -> tuple[float, int]:
    """How far a safe point is: the fraction done, and the number of records; ValueError says what is wrong with it."""
    _check_seal(data)
    values = json.loads(_read_header(data)["__metadata__"]["values"])
    _check_owner(run, values)
    return values.get("done", 0.0), len(values["records"])  # no fraction in those of earlier versions


def _check_seal(data: bytes) -> None:
    at = data.find(SEAL) + len(SEAL)
    if checksum(data[:at] + BLANK + data[at + len(BLANK) :]).encode() != data[at : at + len(BLANK)]:
        raise ValueError("its bytes do not match its checksum, or it has no checksum")


def _check_owner(run: str, values: Mapping[str, Any]) -> None:
    if values["run"] != run:
        raise ValueError(f"it belongs to {values['run']}")


def unpack_safe_point(run: str, data: bytes) -> SafePoint:
    """The safe point in `data`; ValueError says what is wrong with it."""
    _check_seal(data)
    tensors, values = unpack_tensors(data)
    _check_owner(run, values)
    state = {key.removeprefix("state/"): tensor for key, tensor in tensors.items() if key.startswith("state/")}
    rest = {key.removeprefix("records/"): item for key, item in tensors.items() if key.startswith("records/")}
    return SafePoint(values["state"], state, join_records(values["records"], rest))


def name_tensors(records: list[Record]) -> dict[str, Tensor]:
    """The tensors of all records, named INDEX/NAME."""
    return {f"{index}/{name}": item for index, record in enumerate(records) for name, item in record.tensors.items()}


def join_records(values: list[dict[str, Any]], tensors: Mapping[str, Tensor]) -> list[Record]:
    """Records from their values and from tensors that are named INDEX/NAME."""
    records = [Record(row) for row in values]
    for key, tensor in tensors.items():
        index, _, name = key.partition("/")
        records[int(index)].tensors[name] = tensor
    return records


def pack_tensors(tensors: Mapping[str, Tensor], metadata: dict[str, str]) -> bytes:
    """One key of metadata at most where equal content must give equal bytes: the order of several is random."""
    plain = {key: tensor.detach().cpu().contiguous() for key, tensor in tensors.items()}
    try:
        # Through NumPy: the same bytes as from torch, in a third of the time for many small tensors.
        return save({key: tensor.numpy() for key, tensor in plain.items()}, metadata or None)
    except TypeError:  # NumPy has no bfloat16; torch's own way refuses tensors that share memory
        return save_torch({key: tensor.clone() for key, tensor in plain.items()}, metadata or None)


def unpack_tensors(data: bytes) -> tuple[dict[str, Tensor], Any]:
    """The tensors and the plain values in `data`."""
    try:
        header = _read_header(data)
        tensors = {key: _copy(tensor) for key, tensor in load(data).items()}
        return tensors, json.loads(header.get("__metadata__", {}).get("values", "null"))
    except (SafetensorError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise StoreError(f"not a safetensors file of prunefield ({error})") from None


def _read_header(data: bytes) -> dict[str, Any]:
    return json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])


def _copy(tensor: Tensor) -> Tensor:
    """The tensor in torch's own memory: a product's last bits may depend on how memory is aligned.

    Not by `clone`, which shares the work out among threads: after a fork they are gone, and it would wait forever.
    """
    own = torch.empty_like(tensor)
    ctypes.memmove(own.data_ptr(), tensor.data_ptr(), tensor.nbytes)
    return own


def dump_values(value: Any) -> str:
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


def blank_infinite(value: Any) -> Any:
    """None for a number that JSON cannot hold."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
