"""Small pieces of work together, so that starting them does not take longer than doing them."""

import math
from collections import deque
from collections.abc import Iterable, Sequence

MOST = 256  # pieces that are given together
KEEP = 0.8  # of what was learnt, when another piece has ended: the first ones also load and compile


class Supply:
    """Pieces of work that wait, and how long they will take: estimates × measured ÷ estimated seconds of what ended.

    Before anything was measured, and where a piece is to be done by itself, nobody knows: then it takes forever.
    """

    def __init__(self, count: int, seconds: Sequence[float] = ()) -> None:
        self.waiting = deque(range(count))
        self.estimates = [max(own, 1e-6) for own in seconds] or [1.0] * count
        self.alone: set[int] = set()
        self.measured = self.estimated = 0.0

    def learn(self, index: int, seconds: float) -> None:
        """A piece has ended, after this many seconds."""
        self.measured = KEEP * self.measured + seconds
        self.estimated = KEEP * self.estimated + self.estimates[index]

    def predict(self, index: int) -> float:
        """The seconds that a piece will take."""
        if not self.estimated or index in self.alone:
            return math.inf
        return self.estimates[index] * self.measured / self.estimated

    def take(self, room: float, slots: int, *, least: int = 0, most: int = MOST) -> list[int]:
        """The next pieces, `least` at any rate, then as many as take `room` seconds, and at most a share of all."""
        most, batch = min(most, math.ceil(len(self.waiting) / slots)), []
        while self.waiting and len(batch) < most:
            room -= self.predict(self.waiting[0])
            if room < 0 and len(batch) >= least:
                break
            batch.append(self.waiting.popleft())
        return batch

    def give_back(self, pieces: Iterable[int], *, alone: bool = False) -> None:
        """Pieces that were not begun, or that are to be repeated by themselves, come next."""
        pieces = list(pieces)
        self.waiting.extendleft(reversed(pieces))
        if alone:
            self.alone.update(pieces)


def pack_batches(seconds: Sequence[float], target: float, slots: int = 1) -> list[list[int]]:
    """Neighbours in batches of at most `target` estimated seconds, and of at most a share of all for each of `slots`.

    A piece that takes longer is a batch of its own. The order is kept, so that what others need still comes first.

    >>> pack_batches([9, 1, 1, 1, 1, 1], target=3)
    [[0], [1, 2, 3], [4, 5]]
    >>> pack_batches([1, 1, 1, 1], target=60, slots=2)
    [[0, 1], [2, 3]]
    """
    size = min(target, max(sum(seconds) / slots, max(seconds, default=0)))
    batches: list[list[int]] = []
    filled = size
    for index, own in enumerate(seconds):
        if not batches or filled + own > size * (1 + 1e-9):
            batches.append([])
            filled = 0.0
        batches[-1].append(index)
        filled += own
    return batches
