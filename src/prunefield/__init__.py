"""prunefield: which data, networks and pruning rules make local receptive fields, and why.

    import prunefield as pf

    mask = pf.prune(net, "synflow", density=0.05, data=loader)
    mask.hold_(net, optimizer)                                  # now train as usual
    print(mask.summary(net))
    found = pf.measure(net, shape=(1, 28, 28), mask=mask, data=(x, y))
    found.frame(), found.plot()
    print(pf.predict(x, y))

    study = pf.Study({"kind": "neuron", "task": "nlgp"}, sweep={"seed": range(3), "task.g": [0.01, 1.0, 3.0]})
    study.run("my-store", jobs=4).frame()
    pf.reproduce("redman2025/fig4", scale="smoke").show()

The names below are imported on first use, so that the command line starts quickly.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from prunefield.core.errors import Error, PruneWarning
    from prunefield.engines import Engine
    from prunefield.lab.execution import carry_out, obtain
    from prunefield.lab.store import Store
    from prunefield.lab.study import Study
    from prunefield.masks.mask import Mask
    from prunefield.measures.measurement import measure
    from prunefield.measures.prediction import predict
    from prunefield.papers import Claim, Item, Verdict
    from prunefield.pruning.iterations import prune
    from prunefield.report.reproduction import reproduce
    from prunefield.runs import Record, Run, State
    from prunefield.scores import Score
    from prunefield.tasks import Batch, Task
    from prunefield.training.compact import compact, expand

_PLACES = {
    "Batch": "tasks", "Claim": "papers", "Engine": "engines", "Error": "core.errors", "Item": "papers",
    "Mask": "masks.mask", "PruneWarning": "core.errors", "Record": "runs", "Run": "runs", "Score": "scores",
    "State": "runs", "Store": "lab.store", "Study": "lab.study", "Task": "tasks", "Verdict": "papers",
    "carry_out": "lab.execution", "compact": "training.compact", "expand": "training.compact",
    "measure": "measures.measurement", "obtain": "lab.execution",
    "predict": "measures.prediction", "prune": "pruning.iterations", "reproduce": "report.reproduction",
}  # fmt: skip
__all__ = [
    "Batch", "Claim", "Engine", "Error", "Item", "Mask", "PruneWarning", "Record", "Run", "Score", "State", "Store",
    "Study", "Task", "Verdict",
    "carry_out", "compact", "expand", "measure", "obtain", "predict", "prune", "reproduce",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _PLACES:
        return getattr(import_module(f"prunefield.{_PLACES[name]}"), name)
    if name.startswith("__"):
        raise AttributeError(name)
    from prunefield.core.errors import unknown

    raise AttributeError(str(unknown("name", name, _PLACES)))


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
