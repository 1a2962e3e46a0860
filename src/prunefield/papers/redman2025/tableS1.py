"""Table S1 of redman2025: the settings of the net and, at full size, the number of entries that each round keeps."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

from prunefield.papers import Claim, Item, Scale, Verdict
from prunefield.papers.redman2025._claims import judge
from prunefield.runs import Result, Run
from prunefield.runs.imp import Imp, read_masks
from prunefield.tasks.leaves import Leaves

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

TRAINING_IMAGES = 1_281_167
PAPER = {
    "inputs": 3072,
    "hidden 1": 1024,
    "hidden 2": 1024,
    "classes": 1000,
    "batch": 40,
    "rate": 0.1,
    "steps": 40_000,
    "rewind": 1_000,
    "rounds": 10,
    "fraction": 0.3,
}
EARLIER = {"batch": 1000, "steps": 100_000}  # what App. C.2 says that Pellegrini & Biroli used


def count_kept(size: int, n: int) -> int:
    """N − ⌊(1 − 0.7ⁿ)N⌋, in exact arithmetic."""
    return size - size * (10**n - 7**n) // 10**n


def _rows(table: "DataFrame", *words: str) -> "DataFrame":
    """The rows whose quantity begins with one of the words."""
    return table.loc[[str(name).startswith(words) for name in table["quantity"]]]


def check_settings(table: "DataFrame") -> Verdict:
    rows = _rows(table, *PAPER)
    wrong = rows.query("paper != ours")
    observed = f"{len(rows) - len(wrong)} of {len(rows)} are the defaults of imp"
    return judge(wrong.empty, observed, len(rows), ", ".join(wrong["quantity"]))


def check_epochs(table: "DataFrame") -> Verdict:
    (epochs,) = _rows(table, "epochs")["ours"]
    return judge(math.isclose(epochs, 1.25, abs_tol=0.005), f"{epochs:.4g} epochs", 1)


def check_counts(table: "DataFrame") -> Verdict:
    rows = _rows(table, "kept")
    right = len(rows.query("paper == ours"))
    last = [int(count) for count in rows.query("round == round.max()")["ours"]]
    return judge(right == len(rows), f"{right} of {len(rows)} counts are exact; the last are {last}", len(rows))


def check_density(table: "DataFrame") -> Verdict:
    kept = _rows(table, "kept").pivot_table(index="round", values="ours", aggfunc="sum")["ours"].to_numpy()
    removed = 100 * (1 - kept[-1] / kept[0])
    return judge(
        math.isclose(removed, 97.2, abs_tol=0.05), f"{removed:.3f} % are removed after {kept.size - 1} rounds", 2
    )


def check_nesting(table: "DataFrame") -> Verdict:
    rows = _rows(table, "regrown", "first round")
    wrong = int(rows["ours"].to_numpy().sum())
    return judge(wrong == 0, f"{wrong} entries come back or differ", len(rows))


def as_earlier(table: "DataFrame") -> "DataFrame":
    """The table with the batch size and the steps of the preceding work."""
    other = table.copy()
    for name, value in EARLIER.items():
        other.loc[other["quantity"] == name, "ours"] = float(value)
    epochs = EARLIER["batch"] * EARLIER["steps"] / TRAINING_IMAGES
    other.loc[other["quantity"] == "epochs", "ours"] = epochs
    return other


def one_round_less(table: "DataFrame") -> "DataFrame":
    """The table with each round's mask replaced by that of the round before."""
    other = table.copy()
    for layer in (1, 2):
        rows = other["quantity"] == f"kept {layer}"
        other.loc[rows, "ours"] = other.loc[rows, "ours"].shift(1).bfill()
    return other


def rounded_up(table: "DataFrame") -> "DataFrame":
    """The table with counts that are off by one, as if entries equal to the threshold were removed too."""
    return table.assign(ours=table["ours"].where(~table["quantity"].str.startswith("kept"), table["ours"] - 1))


def one_back(table: "DataFrame") -> "DataFrame":
    """The table with a single entry that comes back in each round."""
    return table.assign(ours=table["ours"].where(~table["quantity"].str.contains("regrown"), 1.0))


class TableS1(Item):
    """The paper's net and its exact counts, on masks of full size (redman2025, Table S1, Sec. 2.1 and App. C.2)."""

    title: ClassVar[str] = "Settings of the paper's network, and numbers of entries kept in each round"
    open_choices: ClassVar[tuple[str, ...]] = (
        "The counts come from a real run at full size, 3072:1024:1024:1000, with one training step per round instead "
        "of 40,000: the number of kept entries does not depend on it. Images are dead leaves in 1000 orientations.",
        "The paper prints no counts. Expected is N − ⌊(1 − 0.7ⁿ)N⌋ of the N weights and biases of a hidden layer, in "
        "exact arithmetic, which is what the rule of the reference code gives.",
        "Table S1 gives neither the number of rounds nor the fraction; they are taken from Fig. 1 and Sec. 2.1.",
    )
    claims: ClassVar[tuple[Claim, ...]] = (
        Claim(
            "Architecture, batch size, learning rate, steps and rewinding are those of Table S1; ten rounds remove "
            "30 % each",
            "Table S1, Sec. 2.1",
            "each setting equals the default of `imp`",
            check_settings,
            as_earlier,
        ),
        Claim(
            "One training draws 1.6 million samples from 1,281,167 images: 1.25 epochs",
            "Table S1 (follows from it)",
            "steps × batch / images = 1.25, as rounded",
            check_epochs,
            as_earlier,
        ),
        Claim(
            "97.2 % of the parameters are removed after ten rounds", "Fig. 1", "97.2 %", check_density, one_round_less
        ),
        Claim(
            "A round removes 30 % of what remains, in each hidden layer",
            "Sec. 2.1",
            "N − ⌊(1 − 0.7ⁿ)N⌋ entries are kept after every round, with no exception",
            check_counts,
            rounded_up,
        ),
        Claim(
            "Pruned entries stay pruned, and one-shot pruning begins like IMP",
            "Sec. 2.1",
            "no entry comes back, and the first masks of both are equal",
            check_nesting,
            one_back,
        ),
    )

    def runs(self, scale: Scale) -> list[Run]:
        return [Imp(task=Leaves(categories=PAPER["classes"]), steps=1, rewind=0, held_out=40)]

    def table(self, results: Mapping[Run, Result]) -> "DataFrame":
        """One row per setting, and per layer and round: the paper's number and ours."""
        import pandas

        ((run, result),) = ((run, result) for run, result in results.items() if isinstance(run, Imp))
        full = Imp(task=run.task)
        ours = dict(zip(list(PAPER)[:4], full.widths, strict=True))
        ours |= {name: getattr(full, name) for name in list(PAPER)[4:]}
        rows: list[dict] = [
            {"quantity": name, "round": None, "paper": float(PAPER[name]), "ours": float(ours[name])} for name in PAPER
        ]
        rows.append({"quantity": "epochs", "paper": 1.25, "ours": full.steps * full.batch / TRAINING_IMAGES})
        masks = read_masks(run, result.records, "imp")
        for index, names in enumerate(run.pools):
            size = sum(masks[0][name].numel() for name in names)
            for n, mask in enumerate(masks):
                kept = sum(mask.counts()[name] for name in names)
                expected = float(count_kept(size, n))
                rows.append({"quantity": f"kept {index + 1}", "round": n, "paper": expected, "ours": kept})
        for method in ("imp", "oneshot"):
            stack = read_masks(run, result.records, method)
            for n in range(1, len(stack)):
                back = sum(int((stack[n][name] & ~stack[n - 1][name]).sum()) for name in run.shapes)
                rows.append({"quantity": f"regrown {method}", "round": n, "paper": 0.0, "ours": back})
            other = sum(int((mask != masks[1][name]).sum()) for name, mask in stack[1].items())
            rows.append({"quantity": f"first round unlike {method}", "round": 1, "paper": 0.0, "ours": other})
        return pandas.DataFrame(rows).astype({"ours": float})

    def ideal(self) -> "DataFrame":
        """The paper's settings and counts, exactly; no entry comes back."""
        import pandas

        found: list[tuple[str, int | None, float]] = [(name, None, value) for name, value in PAPER.items()]
        found += [("epochs", None, PAPER["steps"] * PAPER["batch"] / TRAINING_IMAGES)]
        for n in range(PAPER["rounds"] + 1):
            sizes = ((PAPER["inputs"] + 1) * PAPER["hidden 1"], (PAPER["hidden 1"] + 1) * PAPER["hidden 2"])
            found += [(f"kept {layer}", n, count_kept(size, n)) for layer, size in enumerate(sizes, start=1)]
        found += [(f"regrown {method}", n, 0) for method in ("imp", "oneshot") for n in range(1, PAPER["rounds"] + 1)]
        found += [(f"first round unlike {method}", 1, 0) for method in ("imp", "oneshot")]
        table = pandas.DataFrame(found, columns=["quantity", "round", "paper"]).astype({"paper": float})
        return table.assign(ours=table["paper"])

    def draw(self, table: "DataFrame", results: Mapping[Run, Result]) -> "Figure":
        from matplotlib.figure import Figure

        figure = Figure(figsize=(6, 4), layout="constrained")
        axes = figure.add_subplot()
        for layer, colour in ((1, "#000000"), (2, "#0072b2")):
            rows = table[table["quantity"] == f"kept {layer}"]
            axes.plot(rows["round"], rows["paper"], "-", color=colour, label=f"layer {layer}, N − ⌊(1 − 0.7ⁿ)N⌋")
            axes.plot(rows["round"], rows["ours"], "o", color=colour, label=f"layer {layer}, counted")
        axes.set_yscale("log")
        axes.set_xlabel("round")
        axes.set_ylabel("kept weights and biases")
        axes.legend(frameon=False)
        axes.spines[["top", "right"]].set_visible(False)
        return figure
