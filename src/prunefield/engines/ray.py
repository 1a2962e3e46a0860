"""A Ray cluster."""

import logging
import math
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from queue import Queue
from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field

from prunefield.core.errors import RunError, UsageError
from prunefield.engines import Engine, Hints, Notice, Outcome, Retry, begin_work, count_cores, make_environment
from prunefield.engines._batches import Supply

DEATHS = {
    "WorkerCrashedError": "its process died",
    "OutOfMemoryError": "its process was killed for lack of memory",
    "NodeDiedError": "its machine died",
    "ObjectLostError": "its machine died",
}


OWN = ("CPU", "GPU", "memory", "object_store_memory")  # resources that Ray gives in other ways
LEAST = 0.0001  # of a resource that Ray can share
BATCH = 2.5  # estimated seconds of small runs that are one task of Ray; at its end it waits for the disk


def _check_amount(amount: float) -> float:
    if amount < 0 or (amount > 1 and amount != int(amount)) or 0 < amount < LEAST:
        raise UsageError(f"Ray takes 0, a fraction from {LEAST} to 1 or a whole number of a resource, not {amount:g}")
    return amount


def _check_name(name: str) -> str:
    if name in OWN or not name:
        raise UsageError(
            f"{name!r} is not a custom resource; one run takes one CPU, and num_gpus is the number of its GPUs"
        )
    return name


Amount = Annotated[float, AfterValidator(_check_amount)]
CustomName = Annotated[str, AfterValidator(_check_name)]


class Ray(Engine):
    """A Ray cluster: an existing one by its address, or one started on this machine and stopped afterwards.

    The store must be in a folder that all machines can access. A run whose process or machine dies resumes from its
    last safe point, up to `retry` times; a run that raises an error is not repeated. Needs `pip install
    prunefield[ray]`.
    """

    takes_deferred: ClassVar[bool] = True
    address: str | None = Field(
        default=None, description="address of an existing cluster, or 'auto' to find it; by default one is started"
    )
    jobs: int | None = Field(
        default=None,
        ge=1,
        description="number of runs at the same time; by default one per core here, no limit on an existing cluster",
    )
    retry: int = Field(
        default=3, ge=0, description="number of times a run is restarted after its process or machine died"
    )
    num_gpus: Amount | None = Field(
        default=None,
        description="GPUs per run, where a fraction shares one; by default 0.25 with --device cuda",
    )
    resources: dict[CustomName, Amount] = Field(
        default={}, description="custom resources of the cluster that one run needs, as in resources.fast=1"
    )

    @property
    def is_here(self) -> bool:
        return self.address is None

    def require(self) -> None:
        if find_spec("ray") is None:
            raise UsageError("engine 'ray' needs Ray; run: pip install 'prunefield[ray]'")
        _check_that_it_answers(self.address)

    def map(
        self, work: Callable[[Any], Any], items: Sequence[Any], hints: Hints | None = None
    ) -> Iterator[Outcome | Retry | Notice | None]:
        if not items:
            return
        self.require()
        import ray
        from ray.exceptions import RayError

        # "local": a new one even if RAY_ADDRESS is set, or somebody has started one on this machine.
        here = {"address": "local", "num_cpus": self.jobs or count_cores(), "include_dashboard": False}
        start: dict[str, Any] = here if self.address is None else {"address": self.address}
        try:
            environment = {"env_vars": make_environment()}
            ray.init(runtime_env=environment, log_to_driver=False, logging_level=logging.ERROR, **start)
        except Exception as error:  # of many classes, a bare Exception when a busy machine starts it too slowly
            raise RunError(_explain_refusal(self.address, error)) from None
        hints = hints or Hints()
        needs = self._list_needs(hints.device)
        try:
            nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
            for notice in _find_shortage(nodes, needs):
                if self.is_here:  # nobody can add a node to it
                    raise UsageError(f"{notice.text.partition(';')[0]}; lower that, or give the address of a cluster")
                yield notice
            remote = ray.remote(max_retries=0, **needs)(attempt_batch)
            supply = Supply(len(items), hints.seconds)
            batch_of: dict[Any, list[int]] = {}
            deaths = Counter[int]()
            while supply.waiting or batch_of:
                cores = max(1, int(ray.cluster_resources().get("CPU", 1)))
                slots = min(self.jobs or cores, cores)
                # More than one for each core, so that none waits for this process, and a cluster that can grows; one
                # that was started here has no more cores than `jobs`.
                most = math.inf if self.jobs is None or self.is_here else self.jobs
                while supply.waiting and len(batch_of) < min(most, 3 * slots):
                    batch = supply.take(BATCH, 4 * slots, least=1)
                    pieces = [(index, items[index]) for index in batch]
                    batch_of[remote.remote(work, pieces, 2 * BATCH)] = batch
                ready, _ = ray.wait(list(batch_of), num_returns=1, timeout=0.2)
                for reference in ready:
                    batch = batch_of.pop(reference)
                    try:
                        answers = ray.get(reference)
                    except RayError as error:
                        yield from self._repeat(batch, error, supply, deaths)
                        continue
                    for outcome, seconds in answers:
                        supply.learn(outcome.index, seconds)
                        yield outcome
                    ended = {outcome.index for outcome, _ in answers}
                    supply.give_back(index for index in batch if index not in ended)  # there was no time left for these
                if not ready:
                    yield None
        finally:
            ray.shutdown()

    def _repeat(
        self, batch: list[int], error: Exception, supply: Supply, deaths: Counter[int]
    ) -> Iterator[Outcome | Retry | Notice]:
        """What to say of a task that did not answer; its pieces may be repeated."""
        death, (index, *others) = _name_death(error), batch
        if others and death:  # nobody knows which of them it was
            supply.give_back(batch, alone=True)
            yield Notice(f"a task of {len(batch)} short runs died ({death}); each is repeated by itself")
            return
        deaths[index] += death is not None
        if death and deaths[index] <= self.retry:
            supply.give_back([index])
            yield Retry(index, f"{death}; retry {deaths[index]} of {self.retry}")
            return
        what = f"{death} (retry: {self.retry})" if death else type(error).__name__
        for index in batch:
            yield Outcome(index, None, f"{what}: {_first_line(error)}")

    def _list_needs(self, device: str) -> dict[str, Any]:
        """What one run takes, in the words of Ray."""
        share = (0.25 if device.startswith("cuda") else 0) if self.num_gpus is None else self.num_gpus
        return {"num_cpus": 1, "num_gpus": share, "resources": dict(self.resources)}


def attempt_batch(
    work: Callable[[Any], Any], pieces: Sequence[tuple[int, Any]], seconds: float
) -> list[tuple[Outcome, float]]:
    """The outcomes of the first pieces and their seconds: no other one is begun after `seconds`."""
    deadline = time.monotonic() + seconds
    answers: Queue[tuple[Outcome, float]] = Queue()  # some come from another thread
    begun, deferred = 0, None
    for index, item in pieces:
        if begun and time.monotonic() > deadline:
            break
        deferred = begin_work(work, index, item, lambda outcome, spent, _: answers.put((outcome, spent)))
        begun += 1
    if deferred is not None:
        deferred.hurry()
    return [answers.get() for _ in range(begun)]


def _find_shortage(nodes: Sequence[Mapping[str, float]], needs: Mapping[str, Any]) -> Iterator[Notice]:
    """A notice if no node has all that one run takes: Ray would wait in silence."""
    wanted = {"CPU": needs["num_cpus"], "GPU": needs["num_gpus"], **needs["resources"]}
    if not any(all(node.get(name, 0) >= amount for name, amount in wanted.items()) for node in nodes):
        told = ", ".join(f"{name} {amount:g}" for name, amount in wanted.items() if amount)
        yield Notice(f"no node of the Ray cluster has what one run takes ({told}); waiting for one (see: ray status)")


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
    if address == "auto":
        return "no Ray cluster is running on this machine; start one with `ray start --head`, or give an address"
    trouble = "Ray could not be started" if address is None else f"no Ray cluster at {address!r}"
    return f"{trouble}: {_first_line(error)}"
