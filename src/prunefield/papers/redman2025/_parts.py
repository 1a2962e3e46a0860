"""Items that are judged by the nets that are finished, where a net takes hours."""

from collections.abc import Sequence

from prunefield.papers import Item, Scale
from prunefield.papers.redman2025._nets import data_of
from prunefield.runs import Run
from prunefield.runs.components import Components
from prunefield.runs.imp import Imp


def find_part(run: Run) -> tuple[str, int]:
    """The data set and the seed of the net that a run prunes or measures; clones and components belong to one, too."""
    net = getattr(run, "of", run)
    assert isinstance(net, Imp | Components)
    return data_of(net.task), net.seed


class NetItem(Item):
    """At night scale a net counts as soon as all of its runs are finished, if that of seed 0 is: drawings show it."""

    def choose_runs(self, planned: Sequence[Run], done: Sequence[Run], scale: Scale) -> Sequence[Run] | None:
        if scale != "night":
            return super().choose_runs(planned, done, scale)
        unfinished = {find_part(run) for run in set(planned) - set(done)}
        parts = {part: find_part(part) for part in done}
        chosen = [run for run, (data, seed) in parts.items() if not unfinished & {(data, seed), (data, 0)}]
        return chosen or None
