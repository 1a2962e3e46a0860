"""The magnitude of a weight after the network has been trained."""

from copy import deepcopy
from typing import Unpack

import torch
from pydantic import Field
from torch import Tensor, nn

from prunefield.core.errors import UsageError
from prunefield.masks.mask import Mask
from prunefield.modules.borrowing import keep_streams, seed_streams
from prunefield.modules.calls import (
    Data,
    Hooks,
    Needs,
    call_network,
    compute_loss,
    count_in_batch,
    fit_batch,
    join_batches,
    read_batches,
    take_batches,
)
from prunefield.modules.naming import unwrap_module
from prunefield.scores import Score
from prunefield.tasks import Batch
from prunefield.training.examples import TrainingExamples
from prunefield.training.recipe import Recipe


class TrainedMagnitude(Score):
    """|w| after training a copy on the batches: the ranking of IMP, bar2023, Table 2 and Section 8.

    The batches form one set of examples, which `recipe` divides into its own batches. A weight that is zero counts as
    pruned and stays zero. One call is one level of IMP; `prune` with L iterations is IMP in L levels that
    rewinds to the weights of the given network.

    >>> net = nn.Linear(1, 2, bias=False)
    >>> still = TrainedMagnitude(recipe=Recipe(epochs=0))
    >>> scores = still(net, [Batch(torch.ones(1, 1), torch.zeros(1).long())], generator=torch.Generator())
    >>> torch.equal(scores["weight"], net.weight.detach().abs())
    True
    """

    recipe: Recipe = Field(
        default=Recipe(epochs=20, milestones=(), pad=0, flip=False),
        description="the training recipe; by default 20 epochs without augmentation, at a constant learning rate",
    )

    @property
    def needs(self) -> Needs:
        return "all"

    def __call__(
        self, net: nn.Module, batches: Data = (), *, generator: torch.Generator, **hooks: Unpack[Hooks]
    ) -> dict[str, Tensor]:
        forward, loss = hooks.get("forward"), hooks.get("loss")
        taken = read_batches(take_batches(batches, self.needs, generator=generator))
        first = next(iter(self.weights(net).values()))
        whole = fit_batch(join_batches(taken), first)
        seed = int(torch.randint(2**62, (), generator=generator, device=generator.device))
        own = forward is not None or loss is not None or not isinstance(whole.inputs, Tensor)
        y = whole.labels
        if not own and y is None:
            raise UsageError("trained-magnitude needs labels for its training: give pairs (inputs, labels)")
        x = whole.given if own else whole.inputs
        examples = TrainingExamples(x, torch.arange(count_in_batch(whole)) if own else y)
        with keep_streams([first.device] if first.device.type == "cuda" else []), torch.enable_grad():
            seed_streams(seed)  # dropout draws from the global streams
            twin = _copy_network(unwrap_module(net))
            weights = self.weights(twin)
            mask = Mask({name: weight != 0 for name, weight in weights.items()})

            def measure(twin: nn.Module, batch: Batch) -> Tensor:
                (fed,) = read_batches([batch.x] if own else [batch])
                outputs = call_network(twin, fed, forward)
                return compute_loss(outputs, fed, loss or "cross-entropy", raw=forward is not None)

            for _ in self.recipe.train(twin, examples, mask=mask, keep=lambda _, new: new(), seed=seed, loss=measure):
                pass
        return {name: weight.detach().abs() for name, weight in weights.items()}


def _copy_network(net: nn.Module) -> nn.Module:
    """A copy that can be trained, with tensors that an earlier pass left in the network detached."""
    graph = {id(value): value.detach() for module in net.modules() for value in vars(module).values()
             if isinstance(value, Tensor) and value.grad_fn is not None}  # fmt: skip
    return deepcopy(net, graph)
