"""Exact samples of the Ising model on a ring, from its domain walls, eight bonds at a time.

A wall is a bond whose two spins differ. The walls of exp(+J Σ xᵢxᵢ₊₁) are independent, each present with probability
p = 1/(1 + e²ᴶ), except that their number around the ring must be even. Eight bonds are one byte, drawn from its 256
probabilities with one random integer (Walker's alias table), so a ring of N sites takes N/8 + 1 integers.

The condition is met without rejection. Call a bond with a wall always open, and a bond without one open with
probability p/(1−p): then, given which bonds are open, each of them has a wall by a fair coin. A ring with an odd number
of walls has an open bond, and flipping the coin of the first one gives an even ring of the right distribution. Only the
ring without open bonds is then too rare, so all walls are removed with probability aᴺ/(1 + aᴺ), a = tanh J.
"""

from functools import cache

import torch
from torch import Tensor

BONDS = 8
PATTERNS = 1 << BONDS
BITS = 63 - BONDS  # the rest of a random integer, which chooses between a pattern and its alias


def draw_ring(labels: Tensor, couplings: tuple[float, ...], size: int, *, generator: torch.Generator) -> Tensor:
    """One ring of ±1 for each label, shape (n, size), float64; class c has the coupling J = couplings[c].

    >>> draw_ring(torch.tensor([0, 1]), (0.3, 20.0), 12, generator=torch.Generator().manual_seed(0))[1].unique().numel()
    1
    """
    blocks = -(-size // BONDS)
    random = torch.empty(len(labels), blocks + 1, dtype=torch.int64).random_(generator=generator)
    walls = _draw_patterns(random[:, 1:], labels, couplings)
    walls[:, -1] &= (1 << (size - BONDS * (blocks - 1))) - 1
    parity, first, spins = _read_patterns()
    odd = parity[walls].sum(1) & 1
    sign, chance = random[:, 0] & 1, (random[:, 0] >> 1) * 2.0**-62

    j = torch.tensor(couplings, dtype=torch.float64)
    whole = (1 / (1 + j.tanh() ** -size))[labels]
    closed = torch.log1p(-torch.exp(-2 * j))[labels]  # the log-probability that a bond without a wall is not open
    skipped = ((1 - chance) / (1 - whole)).clamp_(2.0**-62, 1).log_() / closed
    block = walls.ne(0).view(torch.uint8).argmax(1, keepdim=True)
    until = BONDS * block[:, 0] + first[walls.gather(1, block)[:, 0]]
    turned = torch.minimum(skipped, until.to(torch.float64)).long()
    place = (turned // BONDS)[:, None]
    walls.scatter_(1, place, walls.gather(1, place) ^ (odd << (turned % BONDS))[:, None])
    walls *= (chance >= whole)[:, None]

    flips = parity[walls]
    before = (flips.cumsum(1).sub_(flips).add_(sign[:, None]) & 1) << BONDS
    return spins[walls.add_(before)].view(len(labels), -1)[:, :size]


def _draw_patterns(random: Tensor, labels: Tensor, couplings: tuple[float, ...]) -> Tensor:
    """A byte of walls for each random integer: the pattern given by its first bits, or that pattern's alias."""
    kept, alias = (torch.cat(part) for part in zip(*map(_weigh_patterns, couplings), strict=True))
    pattern = random >> BITS
    cell = pattern + PATTERNS * labels[:, None]
    return torch.where((random & ((1 << BITS) - 1)) < kept[cell], pattern, alias[cell])


@cache
def _weigh_patterns(coupling: float) -> tuple[Tensor, Tensor]:
    """Walker's table for the probabilities pᵐ(1−p)⁸⁻ᵐ: how often a cell gives its own pattern, and which one else."""
    wall = 1 / (1 + torch.tensor(2 * coupling, dtype=torch.float64).exp())
    count = torch.tensor([pattern.bit_count() for pattern in range(PATTERNS)])
    share = (PATTERNS * wall**count * (1 - wall) ** (BONDS - count)).tolist()
    kept, alias = [1 << BITS] * PATTERNS, list(range(PATTERNS))
    poor = [pattern for pattern in range(PATTERNS) if share[pattern] < 1]
    rich = [pattern for pattern in range(PATTERNS) if share[pattern] >= 1]
    while poor and rich:
        low, high = poor.pop(), rich[-1]
        kept[low], alias[low] = round(share[low] * (1 << BITS)), high
        share[high] -= 1 - share[low]
        if share[high] < 1:
            poor.append(rich.pop())
    return torch.tensor(kept), torch.tensor(alias)


@cache
def _read_patterns() -> tuple[Tensor, Tensor, Tensor]:
    """For each pattern: its parity, its first wall, and the spins after each bond, for either spin before it."""
    bits = (torch.arange(PATTERNS)[:, None] >> torch.arange(BONDS)) & 1
    flips = bits.cumsum(1) & 1
    spins = torch.cat((1 - 2 * flips, 2 * flips - 1)).to(torch.float64)
    return bits.sum(1) & 1, bits.argmax(1), spins
