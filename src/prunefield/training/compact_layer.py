"""A linear layer that holds only its kept weights, for any network and optimizer."""

from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from prunefield.core.errors import UsageError
from prunefield.modules.holders import Holder
from prunefield.training.kept import Kept, choose_tiles

NUMBERS = (torch.float32, torch.float64)


class CompactLinear(Holder):
    """y = W·x + b for inputs (…, columns of W), where the parameter `weight` (kept,) holds the kept entries of W.

    The state dict is that of the dense layer, with zeros; a dense one is loaded if it is zero where W is pruned. Copies
    of the layer share the places of its weights, which never change. Gradients are exact, but cannot be differentiated
    again.

    >>> layer = CompactLinear(torch.tensor([[0.0, 2.0]]), torch.tensor([[False, True]]), bias=None)
    >>> layer(torch.tensor([[3.0, 4.0]])).tolist(), layer.weight.tolist(), layer.state_dict()["weight"].tolist()
    ([[8.0]], [2.0], [[0.0, 2.0]])
    """

    def __init__(self, weight: Tensor, mask: Tensor, bias: Tensor | None) -> None:
        super().__init__()
        if weight.shape != mask.shape:
            raise UsageError(f"the mask has the shape {tuple(mask.shape)}, the weights have {tuple(weight.shape)}")
        self.kept = Kept.of(mask)
        self.out_features, self.in_features = self.kept.shape
        self.weight = nn.Parameter(self.kept.gather(check_numbers(weight)))
        self.bias = None if bias is None else nn.Parameter(bias.detach().clone())
        self.train(False)

    @classmethod
    def of(cls, layer: nn.Linear, mask: Tensor) -> "CompactLinear":
        """The kept weights of a dense layer, in the same mode, frozen where the layer is."""
        found = cls(layer.weight, mask, layer.bias)
        for name, parameter in found.named_parameters():
            parameter.requires_grad_(layer.get_parameter(name).requires_grad)
        return found.train(layer.training)

    def forward(self, x: Tensor) -> Tensor:
        if x.shape[-1:] != (self.in_features,):
            raise UsageError(f"inputs must have the shape (…, {self.in_features}), not {tuple(x.shape)}")
        check_numbers(self.weight, x)
        if self.weight.shape != self.kept.columns.shape:
            raise UsageError(
                f"a compact layer has {len(self.kept.columns)} weights, not {tuple(self.weight.shape)}; a dense state "
                "is given to load_state_dict"
            )
        if x.dtype != self.weight.dtype:
            raise UsageError(f"the weights are {self.weight.dtype} and the inputs {x.dtype}; convert one of them")
        return _Multiply.apply(x, self.weight, self.bias, self.kept)  # type: ignore[return-value]

    def keeps(self) -> dict[str, Tensor]:
        return {"weight": self.kept.mask()}

    @torch.no_grad()
    def to_dense(self) -> Tensor:
        """The weights (rows, columns), with zeros."""
        dense = self.weight.new_zeros(self.kept.shape)
        self.kept.scatter_(dense, self.weight)
        return dense

    def extra_repr(self) -> str:
        """What `print` shows."""
        total = self.in_features * self.out_features
        density = f"{len(self.weight) / max(total, 1):.3g}"
        return f"in_features={self.in_features}, out_features={self.out_features}, density={density}"

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[f"{prefix}weight"] = self.to_dense()

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:  # type: ignore[override]
        key, errors = f"{prefix}weight", rest[-1]
        dense = state_dict.get(key)
        if dense is not None:
            if dense.shape != self.kept.shape:
                errors.append(f"{key} has the shape {tuple(dense.shape)}, this compact layer has {self.kept.shape}")
                return
            if dense.detach().cpu()[~self.kept.mask()].any():
                errors.append(f"{key} is not zero everywhere where this compact layer is pruned: expand the net first")
                return
            state_dict = {**state_dict, key: self.kept.gather(dense.cpu())}
        super()._load_from_state_dict(state_dict, prefix, *rest)


def check_numbers(*tensors: Tensor) -> Tensor:
    """The first tensor; refuses what the compiled loops cannot compute with."""
    for tensor in tensors:
        if tensor.device.type != "cpu" or tensor.dtype not in NUMBERS:
            what = f"{tensor.dtype} on {tensor.device}"
            raise UsageError(f"compact layers compute in float32 or float64 on the CPU, not in {what}: expand the net")
    return tensors[0]


class _Multiply(torch.autograd.Function):
    """x, W and b to x·Wᵀ + b, by the loops of `compact_kernels`."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, kept: Kept) -> Tensor:
        from prunefield.training.compact_kernels import multiply_kept

        rows = x.detach().reshape(-1, x.shape[-1])
        tiles, parts = choose_tiles(len(rows))
        columns = transpose_rows(rows, 8 * tiles * parts)
        out = columns.new_empty(kept.shape[0], columns.shape[1])
        shift = out.new_zeros(kept.shape[0]) if bias is None else bias.detach()
        arrays = (weight.detach(), kept.columns, kept.ends, shift, columns, out)
        multiply_kept(*(item.contiguous().numpy() for item in arrays), (0.0,) * parts)
        ctx.save_for_backward(columns, weight)
        ctx.kept, ctx.parts, ctx.shape = kept, parts, x.shape
        return _own_memory(out[:, : len(rows)].T.reshape(*x.shape[:-1], kept.shape[0]))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *above: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        from prunefield.training.compact_kernels import correlate_kept, differentiate_kept

        columns, weight = ctx.saved_tensors
        rows = above[0].reshape(-1, ctx.kept.shape[0])
        back, target = transpose_rows(rows, columns.shape[1]), torch.zeros_like(weight)
        arrays = [item.numpy() for item in (ctx.kept.columns, ctx.kept.ends, columns, back)]
        rest = (target.detach().numpy(), back.numpy().dtype.type(1), (0.0,) * ctx.parts)
        below = None
        if ctx.needs_input_grad[0]:
            below = torch.zeros_like(columns)
            differentiate_kept(weight.detach().contiguous().numpy(), *arrays, below.numpy(), *rest)
            below = below[:, : len(rows)].T.reshape(ctx.shape)
        elif ctx.needs_input_grad[1]:
            correlate_kept(*arrays, *rest)
        return below, target, rows.sum(0) if ctx.needs_input_grad[2] else None, None


def _own_memory(view: Tensor) -> Tensor:
    """The same numbers in the same places, no longer a view for autograd, which lets nobody change one in place."""
    return view.new_empty(0).set_(view.untyped_storage(), view.storage_offset(), view.shape, view.stride())


def transpose_rows(x: Tensor, width: int) -> Tensor:
    """Rows (n, features) as columns (features, width), filled up with zeros."""
    found = x.new_empty(x.shape[1], width)
    found[:, : len(x)] = x.T
    found[:, len(x) :] = 0
    return found
