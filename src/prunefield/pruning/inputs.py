"""What a score is given when data and network are known by name: examples of a task, in the shape of the network."""

from math import prod
from pathlib import Path
from typing import TYPE_CHECKING

from prunefield.core.errors import UsageError
from prunefield.core.settings import read_settings
from prunefield.pruning.models import is_saved, usual_shape

if TYPE_CHECKING:
    from torch import nn

    from prunefield.modules.calls import Data
    from prunefield.scores import Score
    from prunefield.tasks import Task


def choose_task(
    model: str, data: str | None = None, shape: tuple[int, ...] | None = None
) -> "tuple[Task, tuple[int, ...]]":
    """The task of this name (by default `normal`), and the shape of one input.

    Synthetic inputs take the usual shape of the network where none is given; a file of weights has none.
    """
    from prunefield.tasks import Synthetic, Task

    if data and (path := Path(data)).suffix in (".npy", ".npz") and path.is_file():
        raise UsageError(f"data are examples of a task; for arrays in a file: npz,path={path.resolve()}")
    table = read_settings(data or "normal")
    task = Task.parse(table)
    free = isinstance(task, Synthetic) and "shape" not in table
    found = shape or (usual_shape(model) if free else task.shape)
    if is_saved(model):
        return task, ()
    if not found:
        raise UsageError("synthetic inputs need a shape, as in --shape 3,32,32")
    if not free and prod(task.shape) != prod(found):
        own, given = (",".join(map(str, sides)) for sides in (task.shape, found))
        raise UsageError(f"--shape {given} does not fit the inputs of {table['kind']}, which have the shape {own}")
    return task, found


def draw_examples(
    score: "Score", net: "nn.Module", task: "Task", shape: tuple[int, ...], *, batch_size: int = 256, seed: int = 0
) -> "Data":
    """What the score needs: only an input of zeros, new examples for each iteration, or, where it trains on them, all
    examples of a data set (of an endless task `batch_size`), the same for each iteration.
    """
    import torch

    from prunefield.core.seeds import generator
    from prunefield.modules.calls import count_outputs
    from prunefield.tasks import Synthetic
    from prunefield.training.examples import TrainingExamples

    classes = count_outputs(net, shape) if shape else 1
    if not shape or score.needs in ("nothing", "shape"):  # no shape: a score that runs it is refused
        return torch.zeros(1, *(shape or (1,))), torch.zeros(1, dtype=torch.long)
    if isinstance(task, Synthetic):
        batch_size = 1 if task.single else batch_size
        task = task.model_copy(update={"shape": shape, "classes": classes})
    if score.needs == "all":
        examples = TrainingExamples.of(task, batch_size, seed)
        return [examples.take(torch.arange(len(examples.y))).fold(shape)]
    stream = generator(seed, "inputs")
    return lambda: [task.sample(batch_size, generator=stream).fold(shape)]
