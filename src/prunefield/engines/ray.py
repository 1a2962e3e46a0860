"""A Ray cluster."""

import logging
import socket
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pydantic import Field

from prunefield.core.errors import RunError, UsageError
from prunefield.engines import ONE_THREAD, Engine, Outcome, Retry, attempt_work, count_cores

DEATHS = {
    "WorkerCrashedError": "its process died",
    "OutOfMemoryError": "its process was killed for lack of memory",
    "NodeDiedError": "its machine died",
    "ObjectLostError": "its machine died",
}


class Ray(Engine):
    """A Ray cluster: an existing one by its address, or one started on this machine and stopped afterwards.

    The store must be in a folder that all machines can access. A run whose process or machine dies resumes from its
    last safe point, up to `retries` times; a run that raises an error is not repeated. Needs `pip install
    prunefield[ray]`.
    """

    address: str | None = Field(
        default=None, description="address of an existing cluster, or 'auto' to find it; by default one is started"
    )
    jobs: int = Field(
        default_factory=count_cores, ge=1, description="number of processes of a cluster that is started here"
    )
    retries: int = Field(
        default=3, ge=0, description="number of times a run is restarted after its process or machine died"
    )

    def map(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Outcome | Retry | None]:
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
        except (ConnectionError, RuntimeError, RayError) as error:
            raise RunError(_explain_refusal(self.address, error)) from None
        try:
            remote = ray.remote(num_cpus=1, max_retries=0)(attempt_work)
            index_of = {remote.remote(work, index, item): index for index, item in enumerate(items)}
            deaths = Counter[int]()
            while index_of:
                ready, _ = ray.wait(list(index_of), timeout=0.2)
                for reference in ready:
                    index = index_of.pop(reference)
                    try:
                        yield ray.get(reference)
                    except RayError as error:
                        death = _name_death(error)
                        deaths[index] += death is not None
                        if death and deaths[index] <= self.retries:
                            index_of[remote.remote(work, index, items[index])] = index
                            yield Retry(index, f"{death}; retry {deaths[index]} of {self.retries}")
                        else:
                            what = f"{death} (retries: {self.retries})" if death else type(error).__name__
                            yield Outcome(index, None, f"{what}: {_first_line(error)}")
                if not ready:
                    yield None
        finally:
            ray.shutdown()


def _name_death(error: Exception) -> str | None:
    """How the process of a task died, or None if it did not, in which case the same error would occur again."""
    return next((DEATHS[cls.__name__] for cls in type(error).__mro__ if cls.__name__ in DEATHS), None)


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [""])[0]


def _check_that_it_answers(address: str | None) -> None:
    """Fails at once if there is no cluster; Ray itself tries for minutes."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if not colon or not port.isdigit():
        return
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except OSError as error:
        raise RunError(f"no Ray cluster at {address!r}: {error.strerror or error}") from None


def _explain_refusal(address: str | None, error: BaseException) -> str:
    """One line for a cluster that could not be joined; Ray hides a wrong token deep in the chain of causes."""
    cause: BaseException | None = error
    while cause is not None:
        if "AuthenticationError" in f"{type(cause).__name__}: {cause}":
            return (
                f"the Ray cluster at {address!r} refuses the connection (authentication error): set RAY_AUTH_MODE=token"
                " and give the cluster's token as RAY_AUTH_TOKEN, or its file as RAY_AUTH_TOKEN_PATH"
            )
        cause = cause.__cause__ or cause.__context__
    trouble = "Ray could not be started" if address is None else f"no Ray cluster at {address!r}"
    return f"{trouble}: {_first_line(error)}"
