"""How masks, data sets and pruning methods look in the figures of redman2025."""

from typing import TYPE_CHECKING

from prunefield.runs import Result
from prunefield.runs.imp import Imp, Method, read_masks

if TYPE_CHECKING:
    from torch import Tensor

COLOURS = {"imp": "#000000", "oneshot": "#0072b2", "random": "#d55e00"}
LABELS = {"imp": "IMP", "oneshot": "one-shot", "random": "random"}


def connected(imp: Imp, result: Result, method: Method, count: int) -> "Tensor":
    """The last masks of the units with the most kept inputs, in descending order: (count, channels, height, width)."""
    fields = read_masks(imp, result.records, method)[-1]["layers.0.weight"].view(-1, *imp.task.shape)
    ranked = fields.flatten(1).sum(1).argsort(descending=True, stable=True)
    return fields[ranked[:count]]
