"""Calls: feeding any data to any network, and reading its outputs and losses."""

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import suppress
from copy import copy
from inspect import signature
from itertools import islice
from typing import Any, Literal, NamedTuple, TypedDict, get_args

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from prunefield.core.errors import UsageError, show_line, unknown
from prunefield.core.plugin import Plugin
from prunefield.modules.borrowing import borrow_network, keep_streams, seed_streams

Needs = Literal["nothing", "shape", "batch", "all"]  # the part of the data that a score reads
Data = Any  # anything `take_batches` accepts
Forward = Callable[[nn.Module, Any], Any]
LossName = Literal["cross-entropy", "l1", "squared"]
Loss = LossName | Callable[[Any, Any], Tensor]
LABELS = ("labels", "label", "targets", "target", "y")  # keys of labels in a dict
FORMS = "a DataLoader, a pair (inputs, labels), a dict, a list of these, or a function that returns one of them"


class Hooks(TypedDict, total=False):
    """A user's way to call the network instead of `net(inputs)`, and a loss instead of the score's own."""

    forward: Forward | None
    loss: Loss | None


class Fed(NamedTuple):
    """A batch as `given`, with its `inputs` (a tensor, or several in a tuple or dict) and `labels` (or None)."""

    given: Any
    inputs: Any
    labels: Any


def take_batches(data: Data, needs: Needs, *, generator: torch.Generator) -> list[Any]:
    """The batches that a score needs, from any form of data; one from a `DataLoader`, unless all are needed.

    A loader that shuffles with torch's global stream uses the seed of `generator`; the stream itself is restored.
    """
    if callable(data) and not isinstance(data, Iterable):
        data = data()
    if needs == "nothing" or data is None:
        return []
    data = _read_arrays(data)
    if _is_batch(data):
        return [data]
    if isinstance(data, Sequence) and not isinstance(data, str):
        return list(data if needs != "shape" else data[:1])
    if not isinstance(data, Iterable) or isinstance(data, str):
        drawn = "; draw a task's examples with Task.parse(name).sample(n, generator=…)" * isinstance(data, str | Plugin)
        raise UsageError(f"data must be {FORMS}, not {type(data).__name__}{drawn}")
    with keep_streams():
        seed_streams(
            generator.initial_seed()
        )  # the generator is not advanced, so all forms of the same data give the same scores
        return list(data if needs == "all" else islice(data, 1))


def _read_arrays(data: Data) -> Data:
    """Arrays of numpy and tables of pandas, alone or in a pair, as tensors."""
    if isinstance(data, tuple | list) and any(isinstance(part, np.ndarray) or _is_table(part) for part in data):
        return tuple(map(_read_arrays, data))
    array = getattr(data, "to_numpy")() if _is_table(data) else data  # noqa: B009 - lists have none, and are no tables
    if not isinstance(array, np.ndarray):
        return data
    if np.ma.is_masked(array):
        raise UsageError("an array of the data is masked; leave those examples out or fill them in")
    try:
        plain = array.astype(array.dtype.newbyteorder("="), copy=False)
        is_plain = plain.flags.writeable and all(stride >= 0 for stride in plain.strides)  # what torch takes
        return torch.from_numpy(plain if is_plain else plain.copy())
    except TypeError:
        raise UsageError(f"data must be numbers, and an array is {array.dtype}; convert it") from None


def _is_table(data: Any) -> bool:
    return type(data).__module__.partition(".")[0] == "pandas" and hasattr(data, "to_numpy")


def read_batches(batches: Sequence[Any]) -> list[Fed]:
    """Batches with their inputs and labels identified; refuses to score without data.

    >>> x, y = torch.ones(3, 2), torch.zeros(3)
    >>> [fed.inputs is x and fed.labels is y for fed in read_batches([(x, y), {"x": x, "labels": y}])]
    [True, False]
    >>> read_batches([{"x": x, "labels": y}])[0].inputs.keys()
    dict_keys(['x'])
    """
    found = [_read_batch(batch) for batch in batches]
    if bare := next((fed for fed in found if next(list_tensors(fed.given), None) is None), None):
        raise UsageError(f"data must be {FORMS}; one batch has no tensors: {show_line(repr(bare.given), 80)}")
    if not found or not all(count_in_batch(fed) for fed in found):
        raise UsageError(f"this needs data, but there are no examples: set data to {FORMS}")
    return found


def _is_batch(data: Any) -> bool:
    """Whether data are one batch: a tensor, a dict, or a sequence that ends with the labels."""
    if isinstance(data, Tensor | Mapping):
        return True
    return isinstance(data, tuple | list) and len(data) > 0 and (data[-1] is None or isinstance(data[-1], Tensor))


def _read_batch(batch: Any) -> Fed:
    if isinstance(batch, Fed):
        return batch
    if isinstance(batch, Mapping):
        key = next((key for key in LABELS if key in batch), None)
        return Fed(batch, {name: part for name, part in batch.items() if name != key}, batch[key] if key else None)
    if isinstance(batch, tuple | list) and len(batch) > 1:
        *inputs, labels = batch
        return Fed(batch, inputs[0] if len(inputs) == 1 else tuple(inputs), labels)
    if isinstance(batch, tuple | list) and len(batch) == 1:
        return Fed(batch, batch[0], None)
    if not isinstance(batch, Tensor):
        raise UsageError(f"data must be {FORMS}; one batch is a {type(batch).__name__}")
    return Fed(batch, batch, None)


def list_tensors(tree: Any) -> Iterator[Tensor]:
    """The tensors in dicts, lists and tuples, at any depth."""
    if isinstance(tree, Tensor):
        yield tree
    elif isinstance(tree, Mapping | tuple | list):
        for part in tree.values() if isinstance(tree, Mapping) else tree:
            yield from list_tensors(part)


def map_tensors(tree: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Dicts, lists and tuples with every tensor changed.

    >>> map_tensors({"a": [torch.tensor(1)], "b": "c"}, lambda tensor: tensor + 1)
    {'a': [tensor(2)], 'b': 'c'}
    """
    if isinstance(tree, Tensor):
        return change(tree)
    if isinstance(tree, Mapping):
        twin: MutableMapping = copy(tree) if isinstance(tree, MutableMapping) else dict(tree)
        for key, part in tree.items():
            twin[key] = map_tensors(part, change)
        return twin
    if isinstance(tree, tuple | list):
        parts = [map_tensors(part, change) for part in tree]
        return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    return tree


def change_batch(fed: Fed, change: Callable[[Tensor], Tensor]) -> Fed:
    """A batch with every tensor changed."""
    return _read_batch(map_tensors(fed.given, change))


def fit_batch(fed: Fed, weight: Tensor) -> Fed:
    """A batch on the device of a weight, with real numbers of the weight's type."""
    return change_batch(fed, lambda item: item.to(weight) if item.is_floating_point() else item.to(weight.device))


def count_in_batch(fed: Fed) -> int:
    """The number of examples in a batch."""
    return next((len(item) for item in list_tensors((fed.labels, fed.inputs)) if item.ndim), 0)


def join_batches(batches: Sequence[Fed]) -> Fed:
    """Batches of the same form as one.

    >>> join_batches(read_batches([(torch.ones(1, 2), torch.ones(1)), (torch.ones(2, 2), torch.ones(2))])).labels
    tensor([1., 1., 1.])
    """
    parts = [list(list_tensors(fed.given)) for fed in batches]
    columns = iter([torch.cat(column) for column in zip(*parts, strict=True)])
    return change_batch(batches[0], lambda _: next(columns))


def call_network(net: nn.Module, fed: Fed, forward: Forward | None = None) -> Any:
    """forward(net, batch), or net(inputs): inputs in a dict are passed by name, those in a tuple or list in order."""
    if forward is not None:
        return forward(net, fed.given)
    if isinstance(fed.inputs, Mapping):
        names = signature(net.forward).parameters
        if len(fed.inputs) == 1 and not fed.inputs.keys() & names.keys():  # the data set has its own name for it
            return net(*fed.inputs.values())
        return net(**fed.inputs)
    return net(*fed.inputs) if isinstance(fed.inputs, tuple | list) else net(fed.inputs)


def count_outputs(net: nn.Module, shape: Sequence[int]) -> int:
    """How many outputs the network has for one input of a shape; refuses a shape that it does not take.

    >>> count_outputs(nn.Linear(4, 3), (4,))
    3
    """
    try:
        with borrow_network(net, {}, "eval", torch.Generator()) as (call, _), torch.no_grad():
            fed = fit_batch(_read_batch(torch.zeros(1, *shape)), next(net.parameters(), torch.empty(0)))
            outputs = call(fed.inputs)
            with suppress(UsageError):
                outputs = find_logits(outputs)
    except Exception as error:  # whatever the user's own code raises
        sides, reason = ",".join(map(str, shape)), show_line(f"{type(error).__name__}: {error}")
        raise UsageError(f"the network does not take inputs of shape {sides}: {reason}") from None
    if not isinstance(outputs, Tensor) or outputs.ndim < 2:
        got = f"a tensor of shape {tuple(outputs.shape)}" if isinstance(outputs, Tensor) else type(outputs).__name__
        raise UsageError(f"the network must return a tensor (examples, classes), not {got}: wrap it")
    return outputs.shape[1]


def find_logits(outputs: Any) -> Tensor:
    """The logits among outputs: a tensor itself, `logits` (or `out`) of a dict or object, the first of a tuple.

    >>> find_logits(({"logits": torch.tensor(1.0)}, None))
    tensor(1.)
    """
    found = outputs
    if isinstance(outputs, Mapping):
        found = next((outputs[key] for key in ("logits", "out") if key in outputs), None)
    elif not isinstance(outputs, Tensor) and isinstance(getattr(outputs, "logits", None), Tensor):
        found = outputs.logits
    elif isinstance(outputs, tuple | list):
        found = find_logits(outputs[0]) if outputs else None
    if not isinstance(found, Tensor):
        advice = "set forward=lambda net, batch: … to a function that returns its logits"
        raise UsageError(f"the network returns a {type(outputs).__name__} without logits; {advice}")
    return found


def compute_loss(outputs: Any, fed: Fed, loss: Loss, *, raw: bool = False, temperature: float = 1.0) -> Tensor:
    """The mean loss of logits/`temperature`; outputs that are one number are a loss themselves.

    A user's loss function gets (logits, labels) or, with `raw`, the unchanged outputs.
    """
    if callable(loss):
        outputs = outputs if raw else find_logits(outputs)
        value = loss(outputs / temperature if isinstance(outputs, Tensor) else outputs, fed.labels)
        if not isinstance(value, Tensor) or value.numel() != 1:
            got = f"of shape {tuple(value.shape)}" if isinstance(value, Tensor) else f"a {type(value).__name__}"
            raise UsageError(f"the loss must be a tensor of one number, not {got}")
        return value.reshape(())
    if loss not in get_args(LossName):
        raise unknown("loss", loss, get_args(LossName))
    outputs = find_logits(outputs)
    if outputs.ndim == 0:
        return outputs
    if fed.labels is None:
        raise UsageError("the batch has no labels: give pairs (inputs, labels), or loss=lambda outputs, _: …")
    outputs = outputs / temperature
    if loss == "cross-entropy":
        return _cross_entropy(outputs, fed.labels)
    same = outputs.shape == fed.labels.shape
    error = outputs - (fed.labels if same else functional.one_hot(fed.labels, outputs.shape[1])).to(outputs.dtype)
    return (error.abs() if loss == "l1" else error.square()).sum() / len(outputs)


def _cross_entropy(outputs: Tensor, labels: Tensor) -> Tensor:
    """Classes are on the second axis, or on the last, as for tokens, if only that fits the labels."""
    try:
        if outputs.ndim > 2 and outputs.shape[:-1] == labels.shape != (outputs.shape[0], *outputs.shape[2:]):
            outputs = outputs.movedim(-1, 1)
        if not labels.is_floating_point():  # also int32, and 0 and 1 for each class
            labels = labels.to(outputs.dtype) if labels.shape == outputs.shape else labels.long()
        return functional.cross_entropy(outputs, labels)
    except (RuntimeError, ValueError, IndexError, TypeError, AttributeError) as error:
        got = f"outputs of shape {tuple(outputs.shape)} and labels of shape {tuple(getattr(labels, 'shape', ()))}"
        known = f"; labels are whole numbers from 0 to {outputs.shape[1] - 1}" if outputs.ndim == 2 else ""
        raise UsageError(
            f"{got} do not fit the cross-entropy: {str(error).splitlines()[0].rstrip('.')}{known}"
        ) from None
