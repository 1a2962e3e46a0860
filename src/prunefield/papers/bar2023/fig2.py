"""Fig. 2 of bar2023: norms of winning tickets at initialisation, compared with shuffled masks."""

from collections.abc import Mapping

from matplotlib.figure import Figure
from pandas import DataFrame

from prunefield.core.figures import fill_with_legend
from prunefield.networks.lenet import Lenet
from prunefield.papers import Frame, Item, Scale, Verdict, claim, gather, judge, rows
from prunefield.papers._kit import NOT_SHIPPED, PALETTE, has_tensors
from prunefield.runs import Result, Run
from prunefield.runs.shuffles import Shuffles
from prunefield.runs.tickets import Tickets
from prunefield.tasks.fashion_mnist import FashionMnist
from prunefield.tasks.leaves import Leaves
from prunefield.training.recipe import Recipe

LEVELS = 20
ADAM = {
    "optimizer": "adam",
    "lr": 1.2e-3,
    "batch_size": 60,
    "milestones": (),
    "weight_decay": 0.0,
    "pad": 0,
    "flip": False,
}


def find_tickets(scale: Scale) -> Tickets:
    """Each level removes 20% of the hidden layers and 10% of the head."""
    if scale == "smoke":
        task = Leaves(side=8, count=10, margin=3, largest=4, categories=4)
        net, levels, epochs = Lenet(width=30), 8, 4
        size = {"task": task, "images": 600, "held_out": 200}
    else:
        net, levels, epochs = Lenet(width=100), LEVELS, 40
        size = {"task": FashionMnist(standardise="channel"), "held_out": 10_000}
    removed = {"levels": levels, "density": 0.8**levels, "head": 0.9**levels, "scope": "layer"}
    return Tickets.model_validate({"net": net, "recipe": Recipe(epochs=epochs, **ADAM)} | size | removed)


def find_last(table: Frame) -> Frame:
    """The rows of the last level."""
    return rows(table, level=table["level"].max())


def shuffle_masks(table: Frame) -> Frame:
    """The null: the tickets are shuffled masks."""
    return table.assign(norm=table["shuffled"], below=0.5)


class Fig2(Item):
    """Layer norms of w0⊙m for tickets and for shuffled masks, LeNet-300-100 on Fashion-MNIST (bar2023, Fig. 2)."""

    title = "Norms of winning tickets and of shuffled masks at initialisation"
    size = (10, 4.8)
    from_values = True
    open_choices = (
        "The paper states neither how LeNet-300-100 is trained nor how much each level removes. The settings are "
        "taken from earlier public code of its first author: Adam, learning rate 0.0012, batches of 60, 40 epochs, "
        "20% of each hidden layer "
        "and 10% of the head in each level, no rewinding; after 20 levels this leaves the 1.2% of the caption.",
        "Night scale is full size: 20 levels of 40 epochs, 10,000 masks, one seed, about 50 minutes of one core. Smoke "
        "and laptop scale: a small net, leaves, 8 levels.",
        "'Extremely high' means: above 99.9% of the shuffled masks in every layer.",
    )

    scales = ("smoke", "night")

    def runs(self, scale: Scale) -> list[Run]:
        return [Shuffles(of=find_tickets(scale), masks=2_000 if scale == "smoke" else 10_000)]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        """One row per level and layer."""
        return gather(results, lambda run, result: result.values, Shuffles)

    def ideal(self) -> Frame:
        """LeNet-300-100 at every level: a shuffled mask has the expected norm, for w0 of variance 2/fan-in, a ticket
        half more, above all shuffled ones."""
        layers = {"first.weight": (784, 300, 0.8), "second.weight": (300, 100, 0.8), "head.weight": (100, 10, 0.9)}
        cells = []
        for level in range(LEVELS + 1):
            for layer, (inputs, outputs, share) in layers.items():
                kept = round(inputs * outputs * share**level)
                cells.append((level, layer, inputs * outputs, kept, (2 * kept / inputs) ** 0.5))
        table = DataFrame(cells, columns=["level", "layer", "weights", "kept", "expected"])
        return table.assign(shuffled=table["expected"], norm=1.5 * table["expected"], below=1.0)

    @claim(
        "The ticket's norm is extremely high compared to random masks, in each layer",
        at="Fig. 2b, Sec. 8",
        expect="above 99.9% of 10,000 shuffled masks",
        null=shuffle_masks,
        decided_at="night",
    )
    def extreme(table: Frame) -> Verdict:
        last = find_last(table)
        worst = last["below"].min()
        each = ", ".join(f"{row.layer} {row.norm:.2f} against {row.expected:.2f}" for row in last.itertuples())
        seen = f"above {100 * worst:.2f}% of shuffled masks in the weakest layer; {each}"
        return judge(worst > 0.999, seen, len(last))

    @claim(
        "The high norm is maintained at all densities",
        at="Fig. 2a, Sec. 8",
        expect="above the expected norm √(k·mean w0²) at every level and layer",
        null=shuffle_masks,
        decided_at="night",
    )
    def high_at_all_densities(table: Frame) -> Verdict:
        ratios = (table["norm"] / table["expected"])[table["level"] > 0]
        share = (ratios > 1).mean()
        seen = f"above the expected norm in {100 * share:.0f}% of levels and layers; smallest ratio {ratios.min():.3f}"
        return judge(share == 1, seen, len(ratios))

    @claim(
        "The last ticket has a density of 1.2%",
        at="Fig. 2b",
        expect="1.2%, as rounded",
        null=lambda table: table.assign(kept=(0.8 * table["kept"]).astype(int)),  # one level more
        decided_at="night",
    )
    def density(table: Frame) -> Verdict:
        last = find_last(table)
        found = last["kept"].sum() / last["weights"].sum()
        seen = f"density {100 * found:.3f}% after {table['level'].max()} levels"
        return judge(0.0119 < found < 0.0121, seen, len(last))

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        left, right = figure.subplots(1, 2)
        run = next(run for run in results if isinstance(run, Shuffles))
        records = [record for record in results[run].records if record["level"] == table["level"].max()]
        for colour, record in zip(PALETTE, records, strict=False):
            name = record["layer"]
            layer = rows(table, layer=name)
            left.plot(100 * layer["density"], layer["norm"], color=colour, label=f"ticket, {name}")
            left.plot(100 * layer["density"], layer["shuffled"], ":", color=colour, label=f"shuffled, {name}")
            if has_tensors(results[run]):
                norms = record.tensors["norms"].numpy()
                right.hist(norms, color=colour, bins=60, weights=[1 / len(norms)] * len(norms), alpha=0.5)
                right.axvline(record["norm"], color=colour)
        left.set(xlabel="remaining weights (%)", ylabel="norm of kept initial weights")
        if not has_tensors(results[run]):
            fill_with_legend(right, [left], f"norms of all shuffled masks:\n{NOT_SHIPPED}\n")
            return
        right.set(xlabel="norm of kept initial weights,\nlast level (line: ticket)", ylabel="share of shuffled masks")
        figure.legend(loc="outside upper center", ncols=max(1, len(records)))
