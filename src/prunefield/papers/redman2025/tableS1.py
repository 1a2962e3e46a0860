"""Table S1 of redman2025: the settings of the net and, at full size, the number of entries that each round keeps."""

import math
from collections.abc import Iterator, Mapping

import pandas
from matplotlib.figure import Figure

from prunefield.papers import Frame, Item, Scale, Verdict, claim, gather, judge, rows
from prunefield.papers._kit import BLACK, BLUE, Row
from prunefield.papers.redman2025._curves import at_end
from prunefield.runs import Result, Run
from prunefield.runs.imp import Imp, Method, read_masks
from prunefield.tasks.leaves import Leaves

TRAINING_IMAGES = 1_281_167
PAPER = {
    "inputs": 3072,
    "hidden 1": 1024,
    "hidden 2": 1024,
    "classes": 1000,
    "batch_size": 40,
    "lr": 0.1,
    "steps": 40_000,
    "rewind": 1_000,
    "rounds": 10,
    "fraction": 0.3,
}
EARLIER = {"batch_size": 1000, "steps": 100_000}  # what App. C.2 says that Pellegrini & Biroli used
METHODS: tuple[Method, ...] = ("imp", "oneshot")
KEPT = ("kept 1", "kept 2")
REGROWN = tuple(f"regrown {method}" for method in METHODS)
UNLIKE = tuple(f"first round unlike {method}" for method in METHODS)


def count_entries(size: int, n: int) -> int:
    """N − ⌊(1 − 0.7ⁿ)N⌋, in exact arithmetic."""
    return size - size * (10**n - 7**n) // 10**n


def as_earlier(table: Frame) -> Frame:
    """The null: the batch size and the steps of the preceding work."""
    other = {**EARLIER, "epochs": EARLIER["batch_size"] * EARLIER["steps"] / TRAINING_IMAGES}
    return table.assign(ours=table["quantity"].map(other).fillna(table["ours"]))


def one_round_less(table: Frame) -> Frame:
    """The null: each round's mask is that of the round before."""
    before = table.groupby("quantity")["ours"].shift(1).fillna(table["ours"])
    return table.assign(ours=table["ours"].mask(table["quantity"].isin(KEPT), before))


def rounded_up(table: Frame) -> Frame:
    """The null: counts that are off by one, as if entries equal to the threshold were removed too."""
    return table.assign(ours=table["ours"] - table["quantity"].isin(KEPT))


def one_back(table: Frame) -> Frame:
    """The null: a single entry that comes back in each round."""
    return table.assign(ours=table["ours"].mask(table["quantity"].isin(REGROWN), 1.0))


class TableS1(Item):
    """The paper's net and its exact counts, on masks of full size (redman2025, Table S1, Sec. 2.1 and App. C.2)."""

    title = "Settings of the paper's network, and numbers of entries kept in each round"
    size = (6, 4)
    open_choices = (
        "The counts come from a real run at full size, 3072:1024:1024:1000, with one training step per round instead "
        "of 40,000: the number of kept entries does not depend on it. Images are dead leaves in 1000 orientations.",
        "The paper prints no counts. Expected is N − ⌊(1 − 0.7ⁿ)N⌋ of the N weights and biases of a hidden layer, in "
        "exact arithmetic, which is what the rule of the reference code gives.",
        "Table S1 gives neither the number of rounds nor the fraction; they are taken from Fig. 1 and Sec. 2.1.",
    )

    def runs(self, scale: Scale) -> list[Run]:
        return [Imp(task=Leaves(categories=PAPER["classes"]), steps=1, rewind=0, held_out=40)]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        """One row per setting, and per layer and round: the paper's number and ours."""
        return gather(results, compare_numbers, Imp).astype({"ours": float})

    def ideal(self) -> Frame:
        """The paper's settings and counts, exactly; no entry comes back."""
        rounds = range(PAPER["rounds"] + 1)
        sizes = ((PAPER["inputs"] + 1) * PAPER["hidden 1"], (PAPER["hidden 1"] + 1) * PAPER["hidden 2"])
        found = [(name, None, value) for name, value in PAPER.items()]
        found += [("epochs", None, PAPER["steps"] * PAPER["batch_size"] / TRAINING_IMAGES)]
        found += [(name, n, count_entries(size, n)) for name, size in zip(KEPT, sizes, strict=True) for n in rounds]
        found += [(name, n, 0) for name in REGROWN for n in rounds[1:]] + [(name, 1, 0) for name in UNLIKE]
        table = pandas.DataFrame(found, columns=["quantity", "round", "paper"]).astype({"paper": float})
        return table.assign(ours=table["paper"])

    @claim(
        "Architecture, batch size, learning rate, steps and rewinding are those of Table S1; ten rounds remove 30% "
        "each",
        at="Table S1, Sec. 2.1",
        expect="each setting equals the default of `imp`",
        null=as_earlier,
    )
    def same_settings(table: Frame) -> Verdict:
        found = rows(table, quantity=tuple(PAPER))
        wrong = found["quantity"][found["paper"] != found["ours"]]
        observed = f"{len(found) - len(wrong)} of {len(found)} are the defaults of imp"
        return judge(wrong.empty, observed, len(found), ", ".join(wrong))

    @claim(
        "One training draws 1.6 million samples from 1,281,167 images: 1.25 epochs",
        at="Table S1 (follows from it)",
        expect="steps × batch / images = 1.25, as rounded",
        null=as_earlier,
    )
    def epochs(table: Frame) -> Verdict:
        (found,) = rows(table, quantity="epochs")["ours"]
        return judge(math.isclose(found, 1.25, abs_tol=0.005), f"{found:.4g} epochs", 1)

    @claim("97.2% of the parameters are removed after ten rounds", at="Fig. 1", expect="97.2%", null=one_round_less)
    def removed(table: Frame) -> Verdict:
        kept = rows(table, quantity=KEPT).groupby("round")["ours"].sum().to_numpy()
        share = 100 * (1 - kept[-1] / kept[0])
        observed = f"{share:.3f}% are removed after {kept.size - 1} rounds"
        return judge(math.isclose(share, 97.2, abs_tol=0.05), observed, 2)

    @claim(
        "A round removes 30% of what remains, in each hidden layer",
        at="Sec. 2.1",
        expect="N − ⌊(1 − 0.7ⁿ)N⌋ entries are kept after every round, with no exception",
        null=rounded_up,
    )
    def exact_counts(table: Frame) -> Verdict:
        found = rows(table, quantity=KEPT)
        right = (found["paper"] == found["ours"]).sum()
        last = " and ".join(f"{int(count):,}" for count in at_end(found)["ours"])
        return judge(
            right == len(found),
            f"{right} of {len(found)} counts are exact; the last are {last}",
            len(found),
        )

    @claim(
        "Pruned entries stay pruned, and one-shot pruning begins with IMP's mask",
        at="Sec. 2.1",
        expect="no entry comes back, and the first masks of both are equal",
        null=one_back,
    )
    def stay_pruned(table: Frame) -> Verdict:
        found = rows(table, quantity=(*REGROWN, *UNLIKE))
        wrong = int(found["ours"].sum())
        return judge(wrong == 0, f"{wrong} entries come back or differ", len(found))

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        axes = figure.subplots()
        for layer, (name, colour) in enumerate(zip(KEPT, (BLACK, BLUE), strict=True), start=1):
            found = rows(table, quantity=name)
            axes.plot(found["round"], found["paper"], "-", color=colour, label=f"layer {layer}, N − ⌊(1 − 0.7ⁿ)N⌋")
            axes.plot(found["round"], found["ours"], "o", color=colour, label=f"layer {layer}, counted")
        axes.set(yscale="log", xlabel="round", ylabel="kept weights and biases")
        axes.legend()


def compare_numbers(run: Imp, result: Result) -> Iterator[Row]:
    """The paper's number and ours: of each setting, of each layer and round, and of entries that come back."""
    full = Imp(task=run.task)
    ours = [*full.widths, *(getattr(full, name) for name in list(PAPER)[4:])]
    for (name, paper), value in zip(PAPER.items(), ours, strict=True):
        yield {"quantity": name, "round": None, "paper": float(paper), "ours": value}
    yield {"quantity": "epochs", "paper": 1.25, "ours": full.steps * full.batch_size / TRAINING_IMAGES}
    masks = {method: read_masks(run, result.records, method) for method in METHODS}
    for quantity, names in zip(KEPT, run.groups, strict=True):
        counts = [sum(mask.counts()[name] for name in names) for mask in masks["imp"]]
        for n, kept in enumerate(counts):
            yield {"quantity": quantity, "round": n, "paper": float(count_entries(counts[0], n)), "ours": kept}
    for method, regrown, unlike in zip(METHODS, REGROWN, UNLIKE, strict=True):
        stack = masks[method]
        for n in range(1, len(stack)):
            back = sum(int((stack[n][name] & ~stack[n - 1][name]).sum()) for name in run.shapes)
            yield {"quantity": regrown, "round": n, "paper": 0.0, "ours": back}
        differ = sum(int((mask != masks["imp"][1][name]).sum()) for name, mask in stack[1].items())
        yield {"quantity": unlike, "round": 1, "paper": 0.0, "ours": differ}
