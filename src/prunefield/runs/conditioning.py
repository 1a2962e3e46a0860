"""How far data are from assumptions A1 and A2, pair by pair of pixels."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field, model_validator

from prunefield.core.errors import UsageError
from prunefield.core.plugin import Nested
from prunefield.runs import Record, Run, State
from prunefield.tasks import Discrimination
from prunefield.tasks.ising import Ising
from prunefield.tasks.kur import Kur
from prunefield.tasks.nlgp import Nlgp
from prunefield.theory.conditioning import measure_copula_gaps, measure_spin_gaps

SPINS = 12  # at most, as all states are enumerated


class Conditioning(Run):
    """The gaps of A1 and A2 of lufkin2024 (`theory.conditioning`) in class 1, for pixels at several distances.

    A record is one distance: `mean` and `variance` are the gaps, `correlation` that of the two pixels.
    """

    task: Annotated[Discrimination, Nested()] = Field(description="the data: nlgp, kur, or ising with few sites")
    distances: tuple[Annotated[int, Field(ge=1)], ...] = Field(
        default=(1, 2, 3), min_length=1, description="distances of the two pixels, in sites"
    )

    @model_validator(mode="after")
    def _check_task(self) -> "Conditioning":
        if not isinstance(self.task, Nlgp | Kur | Ising):
            raise UsageError(f"conditioning is implemented for the tasks nlgp, kur and ising (got {self.task.kind()})")
        if isinstance(self.task, Ising) and self.task.size > SPINS:
            raise UsageError(f"size must be at most {SPINS} for ising, as all states of the spins are enumerated")
        if max(self.distances) > self.task.size // 2:
            raise UsageError(f"distances must be at most half the ring, {self.task.size // 2}")
        return self

    def __call__(self, state: State) -> Iterator[Record | None]:
        task = self.task
        for place in range(state.values.get("place", 0), len(self.distances)):
            distance = self.distances[place]
            if isinstance(task, Ising):
                gaps = measure_spin_gaps(task.couplings[1], task.size, distance)
            else:
                assert isinstance(task, Nlgp | Kur)
                gaps = measure_copula_gaps(task.squash, float(task.correlate(1).flatten()[distance]))
            state.values["place"], state.done = place + 1, (place + 1) / len(self.distances)
            correlation = float(task.covariance(1)[0, distance])
            yield Record({"distance": distance, "correlation": correlation, **gaps._asdict()})
