"""One step of gradient descent of an `FcnModule`, some of whose layers hold only their kept weights.

The same numbers as `descent.take_step_` with the mask applied after it, up to rounding. All layers work on transposed
inputs (features, batch), see `compact_kernels`.
"""

import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from prunefield.networks.fcn import FcnModule, Norm
from prunefield.training.compact import is_worth_it
from prunefield.training.compact_layer import transpose_rows
from prunefield.training.kept import Kept, choose_tiles


def find_compact(net: FcnModule, mask: Mapping[str, Tensor], density: float) -> dict[int, Kept]:
    """The layers that hold only their kept weights: those of at most this density that are not small."""
    found = {}
    for index in range(len(net.layers)):
        kept = mask.get(f"layers.{index}.weight")
        if kept is not None and is_worth_it(kept.numel(), int(kept.sum()) / max(kept.numel(), 1), density):
            found[index] = Kept.of(kept)
    return found if all(parameter.device.type == "cpu" for parameter in net.parameters()) else {}


class CompactDescent:
    """Descent of a net whose layers `kept` are compact; `write_back_` gives the net its weights again."""

    def __init__(self, net: FcnModule, kept: Mapping[int, Kept]) -> None:
        self.net, self.kept = net, kept
        self.values = {index: part.gather(net.blocks()[index][1].weight) for index, part in kept.items()}

    @torch.no_grad()
    def take_step_(self, x: Tensor, y: Tensor, lr: float) -> float:
        """`descent.take_step_`, which leaves the weights of compact layers in `values`."""
        blocks, n = self.net.blocks(), len(y)
        tiles, parts = choose_tiles(n)
        h = transpose_rows(x, 8 * tiles * parts)
        inputs, fed, moments = [], [], []
        for index, (norm, layer) in enumerate(blocks):
            inputs.append(h.contiguous())
            if norm is not None:
                moments.append(_Moments(norm, inputs[-1], n, parts, is_first=index == 0))
            fed.append(moments[-1].normalise() if norm is not None else torch.relu(inputs[-1]) if index else inputs[-1])
            h = self._multiply(index, layer, fed[-1], parts)
        logs = h[:, :n].T.log_softmax(1)
        loss = functional.nll_loss(logs, y).item()
        if not math.isfinite(loss):
            return loss
        for one in moments:
            one.follow_()
        slope = logs.exp_()
        slope[torch.arange(n), y] -= 1
        slope /= n
        back = slope.T if h.shape[1] == n else transpose_rows(slope, h.shape[1])
        for index, (norm, layer) in reversed(list(enumerate(blocks))):
            below = self._differentiate_(index, layer, fed[index], back, lr, parts, index > 0 or norm is not None)
            layer.bias.sub_(back.sum(1), alpha=lr)
            if norm is not None and below is not None:
                moments.pop().step_back_(below, lr)
                back = below
            elif index and below is not None:
                back = below.mul_(inputs[index] > 0)
        return loss

    @torch.no_grad()
    def write_back_(self) -> None:
        """Writes the kept weights into the net."""
        for index, part in self.kept.items():
            part.scatter_(self.net.blocks()[index][1].weight, self.values[index])

    def _multiply(self, index: int, layer: nn.Linear, h: Tensor, parts: int) -> Tensor:
        if index not in self.kept:
            return functional.linear(h.T, layer.weight, layer.bias).T
        from prunefield.training.compact_kernels import multiply_kept

        part, out = self.kept[index], h.new_empty(layer.out_features, h.shape[1])
        arrays = (self.values[index], part.columns, part.ends, layer.bias, h, out)
        multiply_kept(*(item.detach().numpy() for item in arrays), (0.0,) * parts)
        return out

    def _differentiate_(
        self, index: int, layer: nn.Linear, x: Tensor, back: Tensor, lr: float, parts: int, is_asked: bool
    ) -> Tensor | None:
        """Takes the step of the layer's weights; the gradient of its inputs, if it is asked for."""
        if index not in self.kept:
            below = (back.T @ layer.weight).T.contiguous() if is_asked else None
            layer.weight.addmm_(back, x.T, alpha=-lr)
            return below
        from prunefield.training.compact_kernels import correlate_kept, differentiate_kept

        part, values = self.kept[index], self.values[index]
        is_one = x.shape[1] == 8 * parts
        target = values if is_one else torch.zeros_like(values)
        ends = [item.numpy() for item in (part.columns, part.ends, x, back.contiguous())]
        scale = ends[-1].dtype.type(-lr)
        below = torch.zeros_like(x) if is_asked else None
        if below is None:
            correlate_kept(*ends, target.numpy(), scale, (0.0,) * parts)
        else:
            differentiate_kept(values.numpy(), *ends, below.numpy(), target.numpy(), scale, (0.0,) * parts)
        if not is_one:
            values += target
        return below


class _Moments:
    """Batch normalisation of transposed inputs, after a ReLU unless it is that of the net's inputs."""

    def __init__(self, norm: Norm, x: Tensor, n: int, parts: int, *, is_first: bool) -> None:
        self.norm, self.x, self.is_first = norm, x, is_first
        self.mean, self.variance = torch.empty_like(norm.mean), torch.empty_like(norm.variance)
        self.rows = x.numpy()
        number = self.rows.dtype.type
        real = np.zeros((1, x.shape[1]), number)
        real[:, :n] = 1
        tensors = (norm.weight, norm.bias, self.mean, self.variance)
        arrays = (item.detach().numpy() for item in tensors)
        self.fixed = (real, number(n), number(-np.inf if is_first else 0), number(norm.eps), *arrays, (0.0,) * parts)

    def normalise(self) -> Tensor:
        from prunefield.training.norm_kernels import normalise_rows

        out = torch.empty_like(self.x)
        normalise_rows(self.rows, *self.fixed, out.numpy())
        return out

    def follow_(self) -> None:
        self.norm.follow_(self.mean, self.variance)

    def step_back_(self, back: Tensor, lr: float) -> None:
        from prunefield.training.norm_kernels import normalise_rows_back

        normalise_rows_back(back.numpy(), self.rows, *self.fixed, self.rows.dtype.type(lr), self.is_first)
