"""A Ray cluster."""

import logging
import socket
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pydantic import Field

from prunefield.engines import ONE_THREAD, Engine, Outcome, attempt, cores
from prunefield.errors import RunError, UsageError


class Ray(Engine):
    """A Ray cluster: an existing one by its address, or one that is started on this machine and stopped afterwards.

    The store must lie in a folder that all its machines see. Needs `pip install prunefield[ray]`.
    """

    address: str | None = Field(default=None, description="of an existing cluster, 'auto' to find it; none starts one")
    jobs: int = Field(default_factory=cores, ge=1, description="processes of a cluster that is started here")

    def map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Outcome | None]:
        if not items:
            return
        try:
            import ray
            from ray.exceptions import RayError
        except ImportError:
            raise UsageError("engine 'ray' needs Ray; run: pip install 'prunefield[ray]'") from None
        _check_that_it_answers(self.address)
        here = {"num_cpus": self.jobs, "include_dashboard": False}
        start: dict[str, Any] = here if self.address is None else {"address": self.address}
        try:
            ray.init(runtime_env={"env_vars": ONE_THREAD}, log_to_driver=False, logging_level=logging.ERROR, **start)
        except (ConnectionError, RuntimeError) as error:
            raise RunError(f"no Ray cluster at {self.address!r}: {str(error).splitlines()[0]}") from None
        try:
            remote = ray.remote(num_cpus=1, max_retries=0)(attempt)
            index_of = {remote.remote(work, index, item): index for index, item in enumerate(items)}
            while index_of:
                ready, _ = ray.wait(list(index_of), timeout=0.2)
                for reference in ready:
                    index = index_of.pop(reference)
                    try:
                        yield ray.get(reference)
                    except RayError as error:
                        yield Outcome(index, None, f"its process died: {str(error).splitlines()[0]}")
                if not ready:
                    yield None
        finally:
            ray.shutdown()


def _check_that_it_answers(address: str | None) -> None:
    """Ray itself tries for minutes before it says that nobody is there."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if not colon or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except OSError as error:
        raise RunError(f"no Ray cluster at {address!r}: {error.strerror or error}") from None
