"""Functions that conserve a positive flow: their slope is replaced by f(x)/x, that of a secant.

SynFlow is conserved from layer to layer because ReLU satisfies x·f'(x) = f(x), Euler's identity. Without it layers get
too little or too much: a saturated function has no slope, so the layers before a tanh, or those that compute the gates
of squeeze-and-excitation or an LSTM, would all be pruned; and in a product of two parts of a network each part would
pass back all of the flow. Values stay the same; only slopes are replaced.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

Function = Callable[..., Any]


def divide_flow(found: Tensor, parts: int) -> Tensor:
    """The same values, with 1/`parts` of the slope."""
    return found.detach() + (found - found.detach()) / parts


def show_overflow(total: Tensor) -> Tensor:
    """Turns an infinite divisor into nan, because a quotient of zero would go unnoticed."""
    return total + 0 * total


def follow_secant(function: Function) -> Function:
    """A function (tanh, sigmoid, ReLU6, a power) with the slope |f(x)/x|, which is 0 at x = 0.

    >>> x = torch.tensor([0.5, 100.0], requires_grad=True)
    >>> follow_secant(torch.tanh)(x).sum().backward()
    >>> x.grad
    tensor([0.9242, 0.0100])
    """

    def follow(input: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(input, Tensor) or not input.requires_grad:
            return NotImplemented
        value = function(input.detach().clone(), *args, **kwargs)  # it may overwrite its input
        found = _tilt_slope(value, input)
        found._is_secant = True  # type: ignore[attr-defined]
        return input.copy_(found) if _is_in_place(function) else found

    return follow


def _tilt_slope(value: Tensor, input: Tensor) -> Tensor:
    """`value` as a function of `input`, with the slope |value/input|."""
    size = input.detach()
    return value + (input - size) * torch.where(size == 0, 0, value / size).abs()


def _is_in_place(function: Function) -> bool:
    return function.__name__.endswith("_") and not function.__name__.endswith("__")


def _follow_if(test: Callable[..., bool], function: Function) -> Function:
    follow = follow_secant(function)
    return lambda *args, **kwargs: follow(*args, **kwargs) if test(*args, **kwargs) else NotImplemented


def _shift_secant(function: Function) -> Function:
    """A saturating function plus a constant, as in the 1 + tanh of GELU, is a saturating function."""

    def add(input: Any, other: Any, **kwargs: Any) -> Any:
        bounded, number = (input, other) if isinstance(input, Tensor) else (other, input)
        if not isinstance(number, int | float) or not getattr(bounded, "_is_secant", False):
            return NotImplemented
        return _tilt_slope(function(input, other, **kwargs).detach(), bounded)

    return add


def _multiply_halves(function: Function) -> Function:
    """Gives half of the flow to each of two factors that depend on weights; a weight itself is not such a factor."""

    def multiply(input: Any, other: Any, **kwargs: Any) -> Any:
        if any(not isinstance(item, Tensor) or item.grad_fn is None for item in (input, other)):
            return NotImplemented
        if _is_in_place(function):
            return input.copy_(divide_flow(input.clone() * other, 2))
        return divide_flow(function(input, other, **kwargs), 2)

    return multiply


def _gate_halves(input: Tensor, dim: int = -1) -> Tensor:
    """`glu` as a product with a sigmoid."""
    one, other = input.chunk(2, dim)
    return (
        _multiply_halves(torch.mul)(one, follow_secant(torch.sigmoid)(other)) if input.requires_grad else NotImplemented
    )


SATURATING = (
    torch.tanh, torch.tanh_, Tensor.tanh, Tensor.tanh_, torch.sigmoid, torch.sigmoid_, Tensor.sigmoid, Tensor.sigmoid_,
    torch.special.expit, torch.erf, Tensor.erf, torch.special.erf, torch.atan, Tensor.atan, functional.hardsigmoid,
    functional.hardtanh, functional.hardtanh_, functional.relu6, functional.softsign, torch.square, Tensor.square,
)  # fmt: skip
SECANTS: Mapping[Any, Function] = {
    **{item: follow_secant(item) for item in SATURATING},
    **{item: _follow_if(lambda input, exponent, **_: isinstance(exponent, int | float) and exponent > 0, item)
       for item in (torch.pow, Tensor.pow, Tensor.__pow__)},
    **{item: _follow_if(lambda input, min=None, max=None, **_: isinstance(max, int | float), item)
       for item in (torch.clamp, Tensor.clamp, Tensor.clamp_)},
    **{item: _shift_secant(item) for item in (torch.add, Tensor.add)},
    **{item: _multiply_halves(item) for item in (torch.mul, Tensor.mul, Tensor.mul_, torch.multiply, Tensor.multiply)},
    functional.glu: _gate_halves,
}  # fmt: skip
