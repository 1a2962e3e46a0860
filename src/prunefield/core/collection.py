"""Memory: when not to look for cycles."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def pause_collection() -> Iterator[None]:
    """Until the end of the block, nobody looks for cycles among objects: of hundreds of thousands, all of which stay,
    that takes a fifth of the time in which they are made, and so it does of the time in which torch is loaded.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
