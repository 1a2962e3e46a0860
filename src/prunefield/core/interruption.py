"""The advice that follows Ctrl-C."""

from collections.abc import Iterator
from contextlib import contextmanager

_advice = ["run the same command to continue from here"]


def find_advice() -> str:
    return _advice[-1]


@contextmanager
def advise(text: str) -> Iterator[None]:
    """Until the end of the block, other advice: some work continues after the command ends."""
    _advice.append(text)
    try:
        yield
    finally:
        _advice.remove(text)
