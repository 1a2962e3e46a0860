"""Masks from scores alone, sampled and kept, against `torch.topk`; `torch.multinomial` ends at 2²⁴ scores.

The cost against the number of scores, 10⁴ to 10⁷, is in the other rows; 10⁸ take 3 GB and are left out.
"""

from collections.abc import Iterator

import torch

from benchmarks import Case
from prunefield.masks import Mask

SIZE, DENSITY = 20_024_000, 0.1


def cases() -> Iterator[Case]:
    generator = torch.Generator().manual_seed(0)
    for size in (SIZE, 10_000, 100_000, 1_000_000, 10_000_000):
        scores = {"weight": torch.rand(size, generator=generator) ** 4}
        top = lambda scores=scores["weight"]: torch.topk(scores, int(DENSITY * len(scores)))  # noqa: E731
        for what, work in (
            ("sampled", lambda scores=scores: Mask.sample(scores, DENSITY, generator=generator)),
            ("kept", lambda scores=scores: Mask.keep(scores, DENSITY)),
        ):
            target = "at most 3 × limit" if what == "sampled" and size == SIZE else ""
            yield Case(f"{what}, {size:,} scores", work, limit=top, limit_name="torch.topk", rounds=3, target=target)
