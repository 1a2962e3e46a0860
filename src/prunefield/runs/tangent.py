"""A sketched mask of a small network's tangent, while the network is trained."""

import math
from collections.abc import Iterator
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from prunefield.core import seeds
from prunefield.modules.outlines import allocate_
from prunefield.runs import Record, Run, State
from prunefield.theory import tangent
from prunefield.theory.sketch_lemmas import cross_bound
from prunefield.theory.sketching import enumerate_error, expected_error

COLUMNS = ("step", "loss", "distance", "norm", "slope", "power", "exact", "enumerated", "bound", "even")


class Tangent(Run):
    """Trains a two-layer network by full-batch gradient descent and follows the error of bar2023, Theorem 7.2.

    The mask is made from J(θ0) and θ0, and the error is E_m‖J(θt)θt − J(θt)(θt⊙m)‖²: by the sum over all outcomes of
    one draw (divided by s), by the identity, and by Lemma 4.3. The record at each time also has the error of keeping
    nothing (`power`), that of uniform probabilities (`even`), the printed bound with constants that the run measured (K
    from all recorded Jacobians, R0 = ‖f0 − y‖, λ from J(θ0)J(θ0)ᵀ) and that bound with the measured distance. Inputs
    and labels are Gaussian, the step is a share of 2/(λ_min + λ_max); there are no biases.
    """

    width: int = Field(default=64, ge=1, description="number of hidden units")
    features: int = Field(default=4, ge=1, description="number of inputs of the network")
    examples: int = Field(default=6, ge=1, description="number of training examples")
    activation: Literal["tanh", "relu"] = Field(default="tanh", description="activation function of the hidden units")
    kept: int = Field(default=18, ge=1, description="number of draws s of Algorithm 1")
    share: float = Field(default=0.5, gt=0, le=1, description="learning rate, as a fraction of 2/(λ_min + λ_max)")
    steps: int = Field(default=200, ge=1, description="steps of gradient descent on ½‖f − y‖²")
    every: int = Field(default=20, ge=1, description="steps between records")
    seed: int = Field(default=0, ge=0, description="seed of the network, inputs and labels")

    def __call__(self, state: State) -> Iterator[Record | None]:
        # Not a stream of the state: the same network is drawn again whenever the run continues.
        net, x, y = self._build(seeds.generator(self.seed, "network"))
        outputs, like = tangent.bind_inputs(net, x), tangent.parameters_of(net)
        start = tangent.flatten_parameters(like)
        first = tangent.compute_jacobian(outputs, like)
        spectrum = torch.linalg.eigvalsh(first @ first.T)
        rate = self.share * 2 / (spectrum[0] + spectrum[-1])
        theta = state.tensor("theta", start.clone)
        rows = state.tensor("rows", lambda: torch.zeros(self._records(), len(COLUMNS), dtype=torch.float64))
        for step in range(state.values.setdefault("step", 0), self.steps + 1):
            parameters = tangent.unflatten_parameters(theta, like)
            jacobian, residual = tangent.compute_jacobian(outputs, parameters), outputs(parameters) - y
            if step % self.every == 0:
                rows[step // self.every] = self._look(step, residual, first, start, jacobian, theta)
            theta -= rate * (jacobian.T @ residual)
            state.values["step"] = step + 1
            state.done = (step + 1) / (self.steps + 1)
            yield None
        for index in range(state.values.setdefault("written", 0), len(rows)):
            state.values["written"] = index + 1
            yield self._record(rows, index, first, start, float(spectrum[0]))

    def _build(self, stream: torch.Generator) -> tuple[nn.Module, Tensor, Tensor]:
        sizes = ((self.features, self.width), (self.width, 1))
        layers = [allocate_(nn.Linear(*size, bias=False, device="meta")).double() for size in sizes]
        with torch.no_grad():
            for (fan_in, _), layer in zip(sizes, layers, strict=True):
                layer.weight.normal_(0, fan_in**-0.5, generator=stream)
        x = torch.randn(self.examples, self.features, dtype=torch.float64, generator=stream)
        y = torch.randn(self.examples, dtype=torch.float64, generator=stream)
        middle = nn.Tanh() if self.activation == "tanh" else nn.ReLU()
        return nn.Sequential(layers[0], middle, layers[1]), x, y

    def _look(
        self, step: int, residual: Tensor, first: Tensor, start: Tensor, jacobian: Tensor, theta: Tensor
    ) -> Tensor:
        p, s = tangent.tangent_probabilities(first, start), self.kept
        distance = (theta - start).norm().item()
        power = (jacobian @ theta).square().sum().item()
        exact = expected_error(jacobian.T, theta, p, s).item()
        lost = (jacobian @ torch.where(p > 0, 0, theta)).square().sum().item()
        even = torch.full_like(p, 1 / len(p))
        once = enumerate_error(jacobian.T, torch.where(p > 0, theta, 0), p, 1).item() / s
        found = {
            "step": step,
            "loss": residual.square().sum().item() / 2,
            "distance": distance,
            "norm": jacobian.norm().item(),
            "slope": (jacobian - first).norm().item() / distance if distance else 0.0,
            "power": power,
            "exact": exact,
            "enumerated": once + lost,
            "bound": cross_bound(jacobian.T, theta, p, s).item(),  # infinite if a dead parameter wakes
            "even": expected_error(jacobian.T, theta, even, s).item(),
        }
        return torch.tensor([found[name] for name in COLUMNS], dtype=torch.float64)

    def _record(self, rows: Tensor, index: int, first: Tensor, start: Tensor, lowest: float) -> Record:
        values = dict(zip(COLUMNS, rows[index].tolist(), strict=True))
        # K > 1 in the theorem, and both a Lipschitz constant and a bound of the Jacobian.
        k = max(1.0, rows[:, COLUMNS.index("norm")].max().item(), rows[:, COLUMNS.index("slope")].max().item())
        residual = math.sqrt(2 * rows[0, COLUMNS.index("loss")].item())
        reach = 3 * k * residual / lowest if lowest > 0 else math.inf
        bounds = {
            "bound": values["bound"],
            "printed": tangent.tangent_bound(first, start, self.kept, k=k, distance=reach),
            "measured": tangent.tangent_bound(first, start, self.kept, k=k, distance=values["distance"]),
        }
        return Record(
            {
                **values,
                **{name: bound if math.isfinite(bound) else None for name, bound in bounds.items()},
                "parameters": len(start),
                "dead": int((first.norm(dim=0) == 0).sum()),
                "k": k,
                "reach": reach if math.isfinite(reach) else None,
            }
        )

    def _records(self) -> int:
        return self.steps // self.every + 1
