"""The score `trained-magnitude`: how large a weight becomes when the network is trained."""

from collections.abc import Sequence
from copy import deepcopy

import torch
from pydantic import Field
from torch import Tensor, nn

from prunefield.masks import Mask
from prunefield.pools import Pool
from prunefield.recipe import Recipe
from prunefield.scores import Score
from prunefield.scores._gradients import read_batches
from prunefield.tasks import Batch


class TrainedMagnitude(Score):
    """|w| after a training of a copy on the batches: what IMP ranks by, bar2023, Table 2 and Section 8.

    The batches are one set of examples, which `recipe` cuts into batches of its own. A rated weight that is zero
    counts as pruned and stays zero. One call is one level of IMP; `schedules.shrink` with L iterations is IMP in L
    levels that rewinds to the weights of the given network.

    >>> net = nn.Linear(1, 2, bias=False)
    >>> still = TrainedMagnitude(recipe=Recipe(epochs=0))
    >>> scores = still(net, [Batch(torch.ones(1, 1), torch.zeros(1).long())], generator=torch.Generator())
    >>> torch.equal(scores["weight"], net.weight.detach().abs())
    True
    """

    recipe: Recipe = Field(
        default=Recipe(epochs=20, drops=(), pad=0, flip=False),
        description="the training; the default sees 20 times each example as it is, at a constant rate",
    )

    def __call__(
        self, net: nn.Module, batches: Sequence[Batch] = (), *, generator: torch.Generator
    ) -> dict[str, Tensor]:
        batches = read_batches(batches)
        place = next(iter(self.weights(net).values())).device
        seed = int(torch.randint(2**62, (), generator=generator, device=generator.device))
        pool = Pool(torch.cat([x for x, _ in batches]).to(place), torch.cat([y for _, y in batches]).to(place))
        with torch.random.fork_rng(devices=[place] if place.type == "cuda" else []), torch.enable_grad():
            torch.manual_seed(seed)  # dropout draws from the global stream
            twin = deepcopy(getattr(net, "_orig_mod", net))  # what torch.compile wraps
            weights = self.weights(twin)
            mask = Mask({name: weight != 0 for name, weight in weights.items()})
            for _ in self.recipe.train(twin, pool, mask=mask, keep=lambda _, new: new(), seed=seed):
                pass
        return {name: weight.detach().abs() for name, weight in weights.items()}
