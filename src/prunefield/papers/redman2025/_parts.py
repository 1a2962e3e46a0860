"""Items that are judged by the nets that are finished, where a net takes hours."""

from collections.abc import Sequence
from typing import NamedTuple

from prunefield.papers import Item, Scale
from prunefield.papers.redman2025._nets import data_of, inputs_of
from prunefield.runs import Run
from prunefield.runs.components import Components
from prunefield.runs.imp import Imp


class NetPart(NamedTuple):
    """A net and what belongs to it: the clones of its data and the components, but not a clone of full rank, which
    only one claim needs.
    """

    data: str
    seed: int
    is_full_clone: bool = False


def find_part(run: Run) -> NetPart:
    """What a run belongs to, which prunes a net or measures one."""
    net = getattr(run, "of", run)
    assert isinstance(net, Imp | Components)
    return NetPart(data_of(net.task), net.seed, inputs_of(net.task) == "full clone")


class NetItem(Item):
    """At night scale a net counts as soon as all of its runs are finished, if that of seed 0 is: drawings show it."""

    def choose_runs(self, planned: Sequence[Run], done: Sequence[Run], scale: Scale) -> Sequence[Run] | None:
        if scale != "night":
            return super().choose_runs(planned, done, scale)
        unfinished = {find_part(run) for run in set(planned) - set(done)}
        parts = {run: find_part(run) for run in done}
        return [run for run, part in parts.items() if not unfinished & {part, NetPart(part.data, 0)}] or None
