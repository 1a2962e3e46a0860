"""Borrowing: users' networks are run with substituted tensors and are left exactly as they were."""

import random
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from types import FunctionType, MethodType, ModuleType
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from prunefield.core.errors import UsageError
from prunefield.modules.naming import find_wrapped, unwrap_module, walk_modules

Mode = Literal["eval", "train"]
PLAIN = (int, float, bool, str, bytes, complex, type(None), type, FunctionType, MethodType, ModuleType, torch.dtype,
         torch.device, torch.Size)  # fmt: skip
STREAMS = (np.ndarray, np.random.Generator, np.random.RandomState, random.Random)
FIXED = frozenset((int, float, bool, str, type(None)))  # the most frequent plain types
TABLES = ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set")
OWN = frozenset(vars(nn.Module()))  # attributes of every module: restored, but not copied


@contextmanager
def borrow_network(
    net: nn.Module,
    weights: Iterable[str],
    mode: Mode,
    generator: torch.Generator,
    *,
    positive: bool = False,
    double: bool = False,
) -> Iterator[tuple[nn.Module, dict[str, Tensor]]]:
    """Lends a network without its wrappers, with the named weights as leaves on which its outputs depend.

    All tensors are substituted, so the user's own stay untouched: parameters are detached, buffers copied. `positive`
    replaces them by their absolute values, `double` by doubles. At the end every module has its own tensors and
    attributes back, and the global random streams, which dropout uses, are restored.
    """

    def substitute(tensor: Tensor, *, copy: bool) -> Tensor:
        if not tensor.is_floating_point():
            return tensor.clone() if copy else tensor
        wide = tensor.detach().double() if double else tensor.detach()
        return wide.abs() if positive else wide.clone() if copy else wide

    # By identity, so that shared tensors stay shared. functional_call would do all of this on every call.
    twins: dict[int, Tensor] = {}
    state: dict[str, Tensor] = {}
    modules: dict[int, nn.Module] = {}
    for path, module in walk_modules(net):
        modules[id(module)] = module
        prefix = f"{path}." if path else ""
        for table, copy in ((module._parameters, False), (module._buffers, True)):
            for key, tensor in table.items():
                if tensor is None:
                    continue
                if id(tensor) not in twins:
                    if is_lazy(tensor):
                        raise UsageError(f"the tensor '{prefix}{key}' has no shape yet: call the network once")
                    twins[id(tensor)] = substitute(tensor, copy=copy)
                state[prefix + key] = twins[id(tensor)]
    leaves = {name: state[name].requires_grad_() for name in weights}
    devices = {tensor.device for tensor in state.values() if tensor.device.type == "cuda"}
    with keep_streams(devices), keep_attributes(modules.values(), twins), torch.enable_grad():
        if mode == "train":
            seed_streams(int(torch.randint(2**62, (), generator=generator, device=generator.device)))
        for module in modules.values():
            module.training = mode == "train"
            for table in (module._parameters, module._buffers):
                table.update({key: twins[id(item)] for key, item in table.items() if item is not None})  # type: ignore
        yield unwrap_module(net), leaves


@contextmanager
def lend_copies(net: nn.Module, names: Iterable[str]) -> Iterator[None]:
    """Replaces the named parameters by copies that may be changed; at the end the network has its own back.

    Unlike a deep copy, this works for any network and needs no memory for the rest of it.
    """
    known, wanted = walk_modules(net), set(names)
    copies: dict[int, Tensor] = {}
    for path, module in known:
        for key, tensor in module._parameters.items():
            if tensor is not None and (f"{path}.{key}" if path else key) in wanted:
                copies[id(tensor)] = nn.Parameter(tensor.detach().clone(), requires_grad=tensor.requires_grad)
    modules = {id(module): module for _, module in known}
    with keep_attributes(modules.values(), copies):
        for module in modules.values():
            table = module._parameters
            table.update({key: copies[id(item)] for key, item in table.items() if id(item) in copies})  # type: ignore
        yield


@contextmanager
def keep_streams(devices: Iterable[torch.device] = ()) -> Iterator[None]:
    """Restores the global random streams of torch, numpy and Python at the end."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002 - people's networks draw from it
    with torch.random.fork_rng(devices=list(devices)):
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)  # noqa: NPY002


def seed_streams(seed: int) -> None:
    """Seeds all global streams, within `keep_streams`."""
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002


@contextmanager
def keep_attributes(modules: Iterable[nn.Module], twins: Mapping[int, Tensor]) -> Iterator[None]:
    """Lets a forward pass change any attribute: lists, dicts, tensors and arrays are lent as copies.

    Tensors of `twins` are substituted inside them, as in the list of weights that an LSTM keeps. Other objects get
    their attributes and the entries of their lists and dicts restored, but nothing that is nested deeper.
    """
    modules = list(modules)
    tables: list[tuple[Any, Any]] = []
    memo: dict[int, Any] = dict(twins)
    seen: list[Any] = []  # kept alive, so that no id is reused

    def lend(value: Any) -> Any:
        if isinstance(value, (*PLAIN, nn.Module)):
            return value
        if id(value) in memo:
            return memo[id(value)]
        seen.append(value)
        memo[id(value)] = value  # in case it contains itself
        memo[id(value)] = found = copy(value)
        return found

    def copy(value: Any) -> Any:
        if isinstance(value, Tensor):
            return value.detach().clone() if not is_lazy(value) else value
        if type(value) in (list, set, deque, frozenset):
            return type(value)(map(lend, value))
        if type(value) is tuple:
            if all(type(item) in FIXED for item in value):
                return value
            items = tuple(map(lend, value))
            return value if all(a is b for a, b in zip(items, value, strict=True)) else items
        if isinstance(value, dict):
            tables.append((value, dict(value)))  # it may be of any class, so its entries are restored
            value.update({key: lend(item) for key, item in value.items()})
            return value
        if isinstance(value, torch.Generator):
            twin = torch.Generator(value.device)
            return twin.set_state(value.get_state())
        if isinstance(value, STREAMS):
            return deepcopy(value)
        if isinstance(inner := getattr(value, "__dict__", None), dict) and not callable(value):
            tables.append((inner, dict(inner)))
            tables.extend((item, item.copy()) for item in inner.values() if type(item) in (list, dict, set))
        return value

    for module in modules:
        own = vars(module)
        tables.append((own, own.copy()))
        for key in TABLES:
            tables.append((own[key], own[key].copy()))
    try:
        for module in modules:
            own = vars(module)
            for key, value in list(own.items()):
                if type(value) not in FIXED and key not in OWN:
                    own[key] = lend(value)
            if "_compiled_call_impl" in own:  # of module.compile()
                own["_compiled_call_impl"] = None
            for key, child in module._modules.items():
                if child is not None and find_wrapped(child) is not None:
                    module._modules[key] = unwrap_module(child)
        yield
    finally:
        for table, before in reversed(tables):
            if isinstance(table, list):
                table[:] = before
            else:
                table.clear()
                table.update(before)
