"""CIFAR-100: 50,000 training and 10,000 test images of 32 × 32 pixels in a hundred classes."""

from collections.abc import Iterator
from typing import ClassVar

from prunefield.data import shelf
from prunefield.data.bundles import Bundle
from prunefield.data.pickles import read_pickle
from prunefield.tasks._images import Published
from prunefield.tasks.cifar10 import check_batch


class Cifar100(Published):
    """CIFAR-100 with its fine labels, in the official order (bar2023, Sec. 5).

    >>> Cifar100().shape, Cifar100().classes
    ((3, 32, 32), 100)
    """

    form: ClassVar = shelf.Shape((3, 32, 32), 100)
    counts: ClassVar = (50_000, 10_000)
    licence: ClassVar = "no licence stated; free for research, cite Krizhevsky 2009"
    size: ClassVar = 169_001_437
    address: ClassVar = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz"
    sha256: ClassVar = "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7"

    @classmethod
    def read(cls, bundle: Bundle) -> Iterator[shelf.Part]:
        for name in ("train", "test"):
            with bundle.open(name) as file:
                batch = read_pickle(file, name)
            yield name, *check_batch(batch, name, "fine_labels")
