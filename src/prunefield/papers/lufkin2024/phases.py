"""Our own figure: where a neuron's field is local, by kurtosis and ratio of lengthscales, and where images lie."""

from collections.abc import Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from pandas import DataFrame

from prunefield.measures.localisation import compute_ipr
from prunefield.papers import Frame, Item, Scale, Verdict, claim, gather, judge, numbers, rows
from prunefield.papers.lufkin2024._fields import LOCAL, NOISE
from prunefield.papers.lufkin2024._phase_picture import draw_diagram
from prunefield.papers.lufkin2024.claim3_2 import FAR, MIDDLE, find_threshold, mirror
from prunefield.runs import Result, Run
from prunefield.runs.neuron import Neuron
from prunefield.runs.phases import Phases as PhaseRun
from prunefield.runs.placement import Placement
from prunefield.tasks import Task
from prunefield.tasks.cifar10 import Cifar10
from prunefield.tasks.kur import Kur
from prunefield.tasks.leaves import Leaves
from prunefield.tasks.nlgp import Nlgp
from prunefield.tasks.photos import Photos
from prunefield.tasks.tiny_imagenet import TinyImagenet

LAWS = ("nlgp", "kur")
LOWEST, HIGHEST = {"nlgp": -1.98, "kur": -1.16}, {"nlgp": -0.02, "kur": 3.0}
POINTS = {"nlgp": (-1.7, -1.0, -0.3), "kur": (-0.6, 0.4, 2.0)}  # at which neurons are simulated
RATIOS = (1.5, 3.0, 6.0)
# For each scale: values of the kurtosis for either kind of law, ratios, sites, time, examples of a batch, images.
SIZES: dict[Scale, tuple[int, int, int, float, int, int]] = {
    "smoke": (4, 3, 40, 60.0, 5, 300),
    "laptop": (14, 14, 100, 300.0, 20, 4000),
    "night": (30, 30, 100, 300.0, 20, 4000),
    "paper": (30, 30, 400, 1000.0, 100, 20_000),
}
IMAGES: dict[Scale, tuple[Task, ...]] = {
    "smoke": (Leaves(),),
    "laptop": (Leaves(), Photos()),
    "night": (Leaves(), Photos(), Cifar10(), TinyImagenet()),
    "paper": (Leaves(), Photos(), Cifar10(), TinyImagenet()),
}
NAMES = {"leaves": "dead leaves", "photos": "photographs", "cifar10": "CIFAR-10", "tiny-imagenet": "Tiny ImageNet"}


def describe_laws(run: PhaseRun | Neuron | Placement, result: Result) -> Iterator[dict[str, Any]]:
    """One row for each law, simulated neuron or data set."""
    if isinstance(run, Neuron):
        assert isinstance(run.task, Nlgp | Kur)
        short, long = run.task.lengthscales
        ipr = compute_ipr(result.records[-1].tensors["weights"]).median()
        known = {
            "source": "simulated",
            "laws": run.task.kind(),
            "excess": run.task.kurtosis() - 3,
            "size": run.task.size,
        }
        yield known | {"name": run.task.title, "ratio": long / short, "ipr_n": float(ipr) * run.task.size}
        return
    for record in result.records:
        if isinstance(run, PhaseRun):
            known = {"source": "Eq. 5", "laws": run.laws, "name": f"{run.laws} {record['parameter']:g}"}
            yield known | {"size": run.size, **{key: record[key] for key in ("excess", "ratio", "ipr_n")}}
        else:
            known = {"source": "images", "laws": "", "name": NAMES[run.task.kind()], "size": run.side**2}
            yield known | record.values


def tilt_boundary(table: Frame) -> Frame:
    """The null: a boundary that moves by one unit of kurtosis when the ratio of lengthscales doubles."""
    return table.assign(excess=table["excess"] + np.log2(table["ratio"]))


def find_boundary(table: Frame, laws: str) -> Frame:
    """For each ratio the excess kurtosis at which IPR × N falls through 4.5."""
    flow = rows(table, source="Eq. 5", laws=laws)
    found = []
    for ratio, part in flow.groupby("ratio"):
        ordered = part.sort_values("excess")
        found.append((ratio, find_threshold(numbers(ordered, "excess"), numbers(ordered, "ipr_n"))))
    return DataFrame(found, columns=["ratio", "excess"]).dropna()


class Phases(Item):
    """Our own figure on lufkin2024: the width of the field that Eq. 5 predicts, against kurtosis and lengthscales."""

    title = "Phase diagram of localisation"
    size = (11, 7.5)
    scales = tuple(SIZES)
    open_choices = (
        "This item is not in the paper: Claim 3.2 names the excess kurtosis only.",
        "laws: NLGP(g) below an excess kurtosis of 0 and Kur(k) above −1.2, each with the g or k of that kurtosis; "
        "ξ₁ = 2 sites, ξ₀ = ξ₁/ratio, N = 100; medians of 3 initialisations at t = 300; smoke scale: N = 40 and "
        "patches of 8 × 8 pixels",
        "simulated neurons: batches with all translates and both signs of each example, 3 initialisations",
        "images: grey patches of 16 × 16 pixels against every second pixel of patches twice as large, so that the task "
        "is the paper's, with the ratio of lengthscales estimated from Σρ² (from its root, on the plane); `predict` "
        "on 4,000 of each",
        "criteria, set before anything was run: local is IPR × N ≥ 6 and not local ≤ 3, as elsewhere; the boundary is "
        "where IPR × N falls through 4.5, and kurtosis alone decides if it moves by at most 0.5 from ratio 1.5 to 8; "
        "simulation and flow agree if 9 of 10 neurons are on the side of the flow where that is local or not; images "
        "are local if `predict` says yes",
        "data sets that must be downloaded are used from night scale on",
    )

    def runs(self, scale: Scale) -> list[Run]:
        excesses, ratios, size, time, batch, images = SIZES[scale]
        rising = tuple(float(f"{ratio:.4g}") for ratio in np.geomspace(1.15, 8, ratios))
        small = {"side": 8} if scale == "smoke" else {}
        runs: list[Run] = []
        for laws in LAWS:
            values = tuple(round(float(x), 4) for x in np.linspace(LOWEST[laws], HIGHEST[laws], excesses))
            flow = PhaseRun(laws=laws, excesses=values, ratios=rising, size=size, time=time)
            learning = {"inits": 3, "lr": 0.1, "batch_size": batch, "symmetric": True}
            learning |= {"steps": round(time / 0.1), "record_every": round(time / 0.1)}
            points = product(POINTS[laws], RATIOS if scale != "smoke" else RATIOS[1:2])
            runs += [flow, *(Neuron(task=flow.make_task(*point), **learning) for point in points)]
        return [*runs, *(Placement(task=task, examples=images, **small) for task in IMAGES[scale])]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return gather(results, describe_laws, (PhaseRun, Neuron, Placement))

    def ideal(self) -> Frame:
        """Local below 0, whatever the ratio; images are local."""
        found = []
        for laws, source in product(LAWS, ("Eq. 5", "simulated")):
            for excess, ratio in product(np.linspace(LOWEST[laws], HIGHEST[laws], 16), np.geomspace(1.15, 8, 8)):
                known = {"laws": laws, "source": source, "excess": excess, "ratio": ratio}
                found.append(known | {"ipr_n": 20.0 if excess < (-0.1 if laws == "nlgp" else 0) else 1.2})
        found += [
            {
                "laws": "",
                "source": "images",
                "name": name,
                "excess": -1.0,
                "ratio": 1.7,
                "ipr_n": 20.0,
                "answer": "yes",
                "unmet": "",
            }
            for name in NAMES.values()
        ]
        return DataFrame(found).assign(size=100)

    @claim(
        "Below an excess kurtosis of −1 fields localise at every ratio of lengthscales, above +1 at none",
        at="Claim 3.2; our grid",
        expect="IPR·N ≥ 6 below −1, ≤ 3 above +1",
        null=mirror,
        decided_at="laptop",
    )
    def both_phases(table: Frame) -> Verdict:
        flow = rows(table, source="Eq. 5")
        low, high = flow[flow["excess"] <= -FAR], flow[flow["excess"] >= FAR]
        least = low.loc[low["ipr_n"].idxmin()]
        seen = (
            f"smallest IPR·N below −1: {least['ipr_n']:.1f} (excess {least['excess']:.2f}, ratio {least['ratio']:.2f}, "
        )
        seen += (
            f"{(low['ipr_n'] >= LOCAL).sum()} of {len(low)} laws local); largest above +1: {high['ipr_n'].max():.1f}"
        )
        return judge(low["ipr_n"].min() >= LOCAL and high["ipr_n"].max() <= NOISE, seen, len(low) + len(high))

    @claim(
        "Whether a field localises depends on the kurtosis, not on the ratio of lengthscales",
        at="Claim 3.2; our grid",
        expect="the boundary moves by at most 0.5 from ratio 1.5 to 8",
        null=tilt_boundary,
        decided_at="laptop",
    )
    def upright(table: Frame) -> Verdict:
        seen, good = [], []
        for laws in LAWS:
            edge = find_boundary(table, laws)
            edge = edge[edge["ratio"] >= 1.5]
            moved = edge["excess"].max() - edge["excess"].min()
            seen.append(
                f"{laws}: from {edge['excess'].min():+.2f} to {edge['excess'].max():+.2f} at {len(edge)} ratios"
            )
            good.append(len(edge) and moved <= 0.5)
        return judge(all(good), "; ".join(seen), len(rows(table, source="Eq. 5")))

    @claim(
        "Simulated neurons are in the phase that the flow predicts",
        at="our grid; §4.1",
        expect="at least 9 of 10 neurons agree with the flow, where it is clearly local or not local",
        null=lambda table: table.assign(ipr_n=table["ipr_n"].where(table["source"] != "simulated", 4.5)),
        decided_at="laptop",
    )
    def same_phase(table: Frame) -> Verdict:
        same = []
        for laws in LAWS:
            flow = rows(table, source="Eq. 5", laws=laws)
            for _, point in rows(table, source="simulated", laws=laws).iterrows():
                away = (flow["excess"] - point["excess"]).abs() / 2 + np.abs(np.log(flow["ratio"] / point["ratio"]))
                near = flow.loc[away.idxmin(), "ipr_n"]
                if near >= LOCAL or near <= NOISE:
                    same.append(point["ipr_n"] >= LOCAL if near >= LOCAL else point["ipr_n"] <= NOISE)
        return judge(
            same and np.mean(same) >= 0.9, f"{sum(same)} of {len(same)} simulated neurons agree", max(len(same), 1)
        )

    @claim(
        "Natural images lie where fields localise",
        at="our question; §1",
        expect="`predict` says yes for each data set",
        null=lambda table: table.assign(answer="no"),
        decided_at="laptop",
    )
    def images_localise(table: Frame) -> Verdict:
        found = rows(table, source="images")
        text = "{name}: {answer}, excess {excess:+.2f}, ratio {ratio:.2f}, IPR·N {ipr_n:.1f}"
        seen = "; ".join(text.format(**row) for row in found.to_dict("records"))
        unmet = "; ".join(f"{row['name']}: {row['unmet'] or 'none'}" for row in found.to_dict("records"))
        note = f"Properties that are not met: {unmet}."
        return judge(len(found) and (found["answer"] == "yes").all(), seen, len(found), note)

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        draw_diagram(figure, table, results, {laws: find_boundary(table, laws) for laws in LAWS}, MIDDLE)
