"""Masks from scores, sampled and kept, relative to `torch.topk`; `torch.multinomial` is limited to 2²⁴ scores.

The other rows show the cost for 10⁴ to 10⁸ scores: their peer is ten times the time for a tenth of the scores, so a
ratio of 1 means linear cost.
"""

import time
from collections.abc import Callable, Iterator

import torch

from benchmarks import Case
from prunefield.masks.mask import Mask

SIZE, DENSITY, MANY = 20_024_000, 0.1, 100_000_000


def cases() -> Iterator[Case]:
    generator = torch.Generator().manual_seed(0)

    def sample(scores: torch.Tensor) -> None:
        Mask.sample({"weight": scores}, DENSITY, generator=generator)

    def keep(scores: torch.Tensor) -> None:
        Mask.keep({"weight": scores}, DENSITY)

    for size in (SIZE, 10_000, 100_000, 1_000_000, 10_000_000, MANY):
        scores = torch.rand(size, generator=generator).pow_(4)
        for what, work in (("sampled", sample), ("kept", keep)):
            yield Case(
                f"{what}, {size:,} scores",
                lambda scores=scores, work=work: work(scores),
                peer=None if size == SIZE else lambda scores=scores, work=work: time_tenth(work, scores),
                peer_name="" if size == SIZE else "ten times a tenth",
                limit=lambda scores=scores: torch.topk(scores, int(DENSITY * len(scores))),
                limit_name="torch.topk",
                rounds=1 if size == MANY else 3,
                target="at most 3 × limit" if what == "sampled" and size == SIZE else "",
            )


def time_tenth(work: Callable[[torch.Tensor], None], scores: torch.Tensor) -> float:
    """Ten times the seconds for a tenth of the scores."""
    begin = time.perf_counter()
    work(scores[: len(scores) // 10])
    return 10 * (time.perf_counter() - begin)
