"""Batches that are drawn several at a time, where that is cheaper, without losing the place in their stream."""

from collections import deque

import torch

from prunefield.tasks import Batch, Task


class Ahead:
    """Batches of `size` examples, `task.ahead` of which are drawn at once.

    The stream is moved on when the last of them is taken. So its state and the number of batches taken since `restart`
    are the complete state: with that number as `taken` the same batches follow.

    >>> from prunefield.tasks.gaussian import Gaussian
    >>> stream, same = (torch.Generator().manual_seed(0) for _ in range(2))
    >>> bool((Ahead(Gaussian(), 3, stream).draw().x == Gaussian().sample(3, generator=same).x).all())
    True
    """

    def __init__(self, task: Task, size: int, stream: torch.Generator, *, taken: int = 0) -> None:
        self.task, self.size, self.stream = task, size, stream
        self._drawn: deque[Batch] = deque()
        self._after = stream.get_state()
        for _ in range(taken % task.ahead):
            self.draw()

    def draw(self) -> Batch:
        """The next batch."""
        if self.task.ahead == 1:
            return self.task.sample(self.size, generator=self.stream)
        if not self._drawn:
            copy = self.stream.clone_state()
            x, y = self.task.sample(self.size * self.task.ahead, generator=copy)
            self._drawn.extend(map(Batch, x.split(self.size), y.split(self.size)))
            self._after = copy.get_state()
        batch = self._drawn.popleft()
        if not self._drawn:
            self.stream.set_state(self._after)
        return batch

    def restart(self) -> None:
        """Drops what has been drawn and not taken."""
        if self._drawn:
            self._drawn.clear()
            self.stream.set_state(self._after)
