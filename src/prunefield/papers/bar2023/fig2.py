"""Fig. 2 of bar2023: norms of winning tickets at initialisation, compared with shuffled masks."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from prunefield.networks.lenet import Lenet
from prunefield.papers import Claim, Item, Scale, Verdict
from prunefield.papers._rows import column, rows
from prunefield.runs import Result, Run
from prunefield.runs.shuffles import Shuffles
from prunefield.runs.tickets import Tickets
from prunefield.tasks.fashion_mnist import FashionMnist
from prunefield.tasks.leaves import Leaves
from prunefield.training.recipe import Recipe

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

LEVELS = 20
ADAM = {"optimiser": "adam", "rate": 1.2e-3, "batch": 60, "drops": (), "weight_decay": 0.0, "pad": 0, "flip": False}
LENET = {"net": Lenet(width=100), "scope": "layer"}
CLOTHES = FashionMnist(standardise="channel")


def tickets(scale: Scale) -> Tickets:
    """Each level removes 20 % of the hidden layers and 10 % of the head."""
    if scale == "smoke":
        task = Leaves(side=8, count=10, margin=3, largest=4, categories=4)
        net = Lenet(width=30)
        return Tickets(
            task=task, images=600, net=net, recipe=Recipe(epochs=4, **ADAM), density=0.8**8, head=0.9**8, levels=8,
            scope="layer", held_out=200,
        )  # fmt: skip
    recipe = Recipe(epochs=40, **ADAM)
    return Tickets(
        task=CLOTHES, recipe=recipe, density=0.8**LEVELS, head=0.9**LEVELS, levels=LEVELS, held_out=10_000, **LENET
    )


def check_extreme(table: "DataFrame") -> Verdict:
    last = _last(table)
    worst = min(column(last, "below"))
    parts = zip(last["layer"], column(last, "norm"), column(last, "expected"), strict=True)
    each = ", ".join(f"{layer} {norm:.2f} against {expected:.2f}" for layer, norm, expected in parts)
    return _judge(worst > 0.999, f"above {100 * worst:.2f} % of shuffled masks in the weakest layer; {each}", len(last))


def check_kept_up(table: "DataFrame") -> Verdict:
    triples = zip(column(table, "level"), column(table, "norm"), column(table, "expected"), strict=True)
    ratios = [norm / expected for level, norm, expected in triples if level > 0]
    share = sum(ratio > 1 for ratio in ratios) / len(ratios)
    observed = f"above the expected norm in {100 * share:.0f} % of levels and layers; smallest ratio {min(ratios):.3f}"
    return _judge(share == 1, observed, len(ratios))


def check_density(table: "DataFrame") -> Verdict:
    last = _last(table)
    found = sum(column(last, "kept")) / sum(column(last, "weights"))
    observed = f"density {100 * found:.3f} % after {max(column(last, 'level')):.0f} levels"
    return _judge(0.0119 < found < 0.0121, observed, len(last))


def _last(table: "DataFrame") -> "DataFrame":
    return rows(table, level=table["level"].max())


def _judge(good: bool, observed: str, n: int) -> Verdict:
    return Verdict("reproduced" if good else "not reproduced", observed, n)


def as_shuffled(table: "DataFrame") -> "DataFrame":
    """The table if the tickets were shuffled masks."""
    return table.assign(norm=table["shuffled"], below=0.5)


def one_level_more(table: "DataFrame") -> "DataFrame":
    """The table if the last mask had lost another fifth."""
    return table.assign(kept=[int(0.8 * kept) for kept in column(table, "kept")])


class Fig2(Item):
    """Layer norms of w0⊙m for tickets and for shuffled masks, LeNet-300-100 on Fashion-MNIST (bar2023, Fig. 2)."""

    title: ClassVar[str] = "Norms of winning tickets and of shuffled masks at initialisation"
    open_choices: ClassVar[tuple[str, ...]] = (
        "The paper states neither how LeNet-300-100 is trained nor how much each level removes. The settings are "
        "taken from earlier public code of its first author: Adam, learning rate 0.0012, batches of 60, 40 epochs, "
        "20 % of each hidden layer "
        "and 10 % of the head in each level, no rewinding; after 20 levels this leaves the 1.2 % of the caption.",
        "Laptop scale is full size: 20 levels of 40 epochs, 10,000 masks, one seed. Smoke scale: a small net, "
        "leaves, 8 levels.",
        "'Extremely high' means: above 99.9 % of the shuffled masks in every layer.",
    )
    claims: ClassVar[tuple[Claim, ...]] = (
        Claim(
            "The ticket's norm is extremely high compared to random masks, in each layer",
            "Fig. 2b, Sec. 8",
            "above 99.9 % of 10,000 shuffled masks",
            check_extreme,
            as_shuffled,
            decided_at="laptop",
        ),
        Claim(
            "The high norm is maintained at all densities",
            "Fig. 2a, Sec. 8",
            "above the expected norm √(k·mean w0²) at every level and layer",
            check_kept_up,
            as_shuffled,
            decided_at="laptop",
        ),
        Claim(
            "The last ticket has a density of 1.2 %",
            "Fig. 2b",
            "1.2 %, as rounded",
            check_density,
            one_level_more,
            decided_at="laptop",
        ),
    )

    def runs(self, scale: Scale) -> list[Run]:
        return [Shuffles(of=tickets(scale), masks=2_000 if scale == "smoke" else 10_000)]

    def table(self, results: Mapping[Run, Result]) -> "DataFrame":
        """One row per level and layer."""
        import pandas

        return pandas.DataFrame(
            [record.values for run in results if isinstance(run, Shuffles) for record in results[run].records]
        )

    def ideal(self) -> "DataFrame":
        """LeNet-300-100 at every level: a shuffled mask has the expected norm, for w0 of variance 2/fan-in, a ticket
        half more, above all shuffled ones."""
        import pandas

        layers = {"first.weight": (784, 300, 0.8), "second.weight": (300, 100, 0.8), "head.weight": (100, 10, 0.9)}
        names = ["level", "layer", "weights", "kept", "expected"]
        table = []
        for level in range(LEVELS + 1):
            for layer, (inputs, outputs, share) in layers.items():
                kept = round(inputs * outputs * share**level)
                table.append((level, layer, inputs * outputs, kept, (2 * kept / inputs) ** 0.5))
        found = pandas.DataFrame(table, columns=names)
        return found.assign(shuffled=found["expected"], norm=1.5 * found["expected"], below=1.0)

    def draw(self, table: "DataFrame", results: Mapping[Run, Result]) -> "Figure":
        from matplotlib.figure import Figure

        figure = Figure(figsize=(10, 4), layout="constrained")
        left, right = figure.subplots(1, 2)
        run = next(run for run in results if isinstance(run, Shuffles))
        records = [record for record in results[run].records if "norms" in record.tensors]
        for colour, record in zip(("#0072b2", "#d55e00", "#009e73"), records, strict=True):
            part = rows(table, layer=record["layer"])
            densities = [100 * density for density in column(part, "density")]
            left.plot(densities, column(part, "norm"), color=colour, label=f"ticket, {record['layer']}")
            left.plot(densities, column(part, "shuffled"), ":", color=colour, label="shuffled")
            norms = record.tensors["norms"].numpy()
            share = [1 / len(norms)] * len(norms)
            right.hist(norms, bins=60, weights=share, color=colour, alpha=0.5, label=f"shuffled, {record['layer']}")
            right.axvline(record["norm"], color=colour, linestyle="--", label="ticket")
        left.set(xlabel="remaining weights (%)", ylabel="norm of kept initial weights")
        right.set(xlabel="norm of kept initial weights, last level", ylabel="probability")
        left.legend()
        right.legend(loc="center", bbox_to_anchor=(0.77, 0.7))
        return figure
