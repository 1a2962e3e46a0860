"""The columns of Tables 1 to 4 of bar2023 as pruning rules, and the runs of a network in them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from prunefield.networks import Network
from prunefield.runs.pruned import Pruned
from prunefield.runs.tickets import Tickets, count_examples
from prunefield.scores.grasp import Grasp
from prunefield.scores.magnitude import Magnitude
from prunefield.scores.random import Random
from prunefield.scores.snip import Snip
from prunefield.scores.synflow import Synflow
from prunefield.tasks import Task
from prunefield.tasks.noise import Noise
from prunefield.training.recipe import Recipe

SYNFLOW, CHI, SNIP, GRASP = {"score": Synflow(), "inputs": "ones"}, Synflow(inputs="batch"), Snip(), Grasp()
DRAWN, SHUFFLED, BY_BATCH = {"sample": "last"}, {"shuffle": True}, {"score": Snip(mode="train")}
COLUMNS: dict[str, dict[str, Any]] = {
    "SynFlow": SYNFLOW,
    "SynFlow + chi": {"score": CHI, "inputs": "chi"},
    "SynFlow + rand": SYNFLOW | {"sample": "every"},
    "SynFlow + rand + chi": {"score": CHI, "inputs": "chi", "sample": "every"},
    "SNIP + normal": {"score": SNIP, "inputs": "normal"},
    "SNIP + normal + rand": {"score": SNIP, "inputs": "normal"} | DRAWN,
    "SNIP + sparse": {"score": SNIP, "inputs": "sparse"},
    "SNIP + sparse + rand": {"score": SNIP, "inputs": "sparse"} | DRAWN,
    "SNIP (supervised)": {"score": SNIP, "inputs": None},
    "GraSP (supervised)": {"score": GRASP, "inputs": None},
    "GraSP + normal": {"score": GRASP, "inputs": "normal"},
    "GraSP + normal + rand": {"score": GRASP, "inputs": "normal", "reduce": "positive"} | DRAWN,
    "Random": {"score": Random()},
    "Magnitude": {"score": Magnitude()},
    "IMP (supervised)": {},
    "IMP + random data": {},
    "IMP + random data + rand": DRAWN,
}
# Not in the paper: the network that nothing is pruned from, controls, and the choices that the paper leaves open.
COLUMNS |= {
    "Dense": {"score": Random(), "density": 1.0},
    "SynFlow, shuffled": SYNFLOW | SHUFFLED,
    "SynFlow + rand, shuffled": SYNFLOW | {"sample": "every"} | SHUFFLED,
    "SynFlow + rand (last)": SYNFLOW | DRAWN,
    "SynFlow + rand (last), shuffled": SYNFLOW | DRAWN | SHUFFLED,
    "SNIP + normal (train mode)": BY_BATCH | {"inputs": "normal"},
    "SNIP + sparse (train mode)": BY_BATCH | {"inputs": "sparse"},
    "SNIP (supervised, train mode)": BY_BATCH | {"inputs": None},
}
DENSE_SEEDS = 2  # are enough for a gate


@dataclass(frozen=True)
class TableSetting:
    """A network on a data set: the rows of a table that belong together."""

    data: str
    name: str
    task: Task
    net: Network
    recipe: Recipe
    densities: tuple[float, ...]
    seeds: int
    first: int = 0  # seed
    iterations: int = 100  # of SynFlow
    levels: int | None = None  # of IMP; none: 20% of what remains in each, or a little less
    rewind: int = 0
    images: int = 10_000
    held_out: int = 10_000
    family: str = "ResNet-20"  # the network of the paper's tables whose claims it may decide
    least: float = 0.0  # per cent: below this accuracy of the dense network nothing is decided
    stands_for: float | None = None  # the printed density for which its own stands: a toy has too few weights
    only: tuple[str, ...] = ()  # the columns that it has; none: all

    def runs(self, column: str) -> Iterator[Pruned]:
        """All densities and seeds of a column; without pruning there is one density, and few seeds."""
        if self.only and column not in self.only:
            return
        dense = column == "Dense"
        base = {"task": self.task, "images": self.images, "net": self.net, "held_out": self.held_out}
        for density in self.densities[:1] if dense else self.densities:
            for seed in range(self.first, self.first + (min(self.seeds, DENSE_SEEDS) if dense else self.seeds)):
                how = dict(COLUMNS[column])
                if column.startswith("IMP"):
                    how |= {"of": self._tickets("random" in column, density, seed, base), "continued": True}
                elif column.startswith("SynFlow"):
                    how["iterations"] = self.iterations
                yield Pruned.model_validate(base | {"recipe": self.recipe, "density": density, "seed": seed} | how)

    def _tickets(self, noise: bool, density: float, seed: int, base: dict[str, Any]) -> Tickets:
        levels = self.levels or math.ceil(math.log(density) / math.log(0.8))
        images = count_examples(self.task, self.images)
        task = Noise(of=self.task, images=images, seed=seed) if noise else self.task
        recipe = self.recipe.model_copy(update={"pad": 0, "flip": False}) if noise else self.recipe
        place = {"task": task, "recipe": recipe, "density": density, "seed": seed, "held_out": min(1000, images)}
        return Tickets.model_validate(base | place | {"levels": levels, "rewind": self.rewind})
