"""Small pieces of work together, so that starting them does not take longer than doing them."""

from collections.abc import Sequence


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


def halve_batch(batch: list[int]) -> list[list[int]]:
    """What is left of a batch whose estimate was too low, as smaller ones: not one by one, as each start takes time.

    >>> halve_batch([1, 2, 3]), halve_batch([4]), halve_batch([])
    ([[1, 2], [3]], [[4]], [])
    """
    middle = (len(batch) + 1) // 2
    return [half for half in (batch[:middle], batch[middle:]) if half]
