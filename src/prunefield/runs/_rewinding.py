"""Iterative pruning with rewinding: train, prune, rewind, repeat, the same for every network and every way to train."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn

from prunefield.masks.mask import Mask, pack_bits
from prunefield.runs import Record, State


@dataclass
class Rewinding:
    """Round n = 0, 1, … trains θ(rewind)⊙m(n) and prunes it to m(n + 1); the state counts rounds under `counter`.

    `net` is being trained, `rewound` holds θ(rewind), and `kept` the masks m(n), which are tensors of the state.
    """

    state: State
    build: Callable[[], nn.Module]
    shapes: Mapping[str, tuple[int, ...]]
    counter: str
    rounds: int
    steps: int  # of round 0
    rewind: int
    net: nn.Module = field(init=False)
    rewound: nn.Module = field(init=False)
    kept: dict[str, Tensor] = field(init=False)

    def __post_init__(self) -> None:
        self.net = self.state.module("net", self.build())
        self.rewound = self.state.module("rewound", self.build())
        self.kept = {
            name: self.state.tensor(f"mask:{name}", lambda shape=shape: torch.ones(shape, dtype=torch.bool))
            for name, shape in self.shapes.items()
        }

    @property
    def mask(self) -> Mask:
        """m(n) of the present round."""
        return Mask(self.kept)

    def iterate(
        self,
        train: Callable[[int], Iterator[int]],
        record: Callable[[int], Record],
        prune: Callable[[int], Mapping[str, Tensor]],
        restart: Callable[[int], None],
    ) -> Iterator[Record | None]:
        """All rounds, from the one that the state has come to.

        `train(n)` takes the steps of round n, from the one in the state on, and yields their numbers; `record(n)` says
        what was found, after the last round about its mask alone; `prune(n)` gives the next masks; `restart(n)` makes
        the net and the state ready for the next round.
        """
        place = self.state.values
        for n in range(place.setdefault(self.counter, 0), self.rounds):
            for step in train(n):
                place["step"] = step
                self.state.done = (n + step / self.steps) / self.rounds
                if n == 0 and step == self.rewind:
                    self.rewound.load_state_dict(self.net.state_dict())
                yield None
            found = record(n)
            for name, part in prune(n).items():
                self.kept[name].copy_(part)
            restart(n)
            place[self.counter] = n + 1
            yield found
        if place[self.counter] == self.rounds:
            place[self.counter] += 1
            self.state.done = 1.0
            yield record(self.rounds)


def pack_mask(mask: Mask) -> dict[str, Tensor]:
    """A mask as tensors of a record."""
    return {f"mask:{name}": pack_bits(part) for name, part in mask.items()}
