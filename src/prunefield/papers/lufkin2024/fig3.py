"""Fig. 3 of lufkin2024: one neuron on three kinds of data, simulated and integrated."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from matplotlib.figure import Figure
from pandas import DataFrame

from prunefield.core.figures import add_legend
from prunefield.measures.localisation import compute_ipr, locate_peak
from prunefield.papers import Frame, Item, Scale, Verdict, claim, gather, judge, replace_rows, rows
from prunefield.papers._kit import BLUE
from prunefield.papers.lufkin2024._fields import LOCAL, NOISE, list_fields
from prunefield.papers.lufkin2024._neurons import MATCHED, SIZES, TASKS, TIME, judge_peaks, solve_flows, train_neuron
from prunefield.papers.lufkin2024._pictures import WHY_PEAKS_DIFFER, draw_amplifier, draw_path, draw_time_bar, make_grid
from prunefield.runs import Result, Run
from prunefield.runs.flow import Flow
from prunefield.runs.neuron import Neuron
from prunefield.tasks import Discrimination
from prunefield.tasks.kur import Kur
from prunefield.theory.amplifier import SLOPE, expand_amplifier
from prunefield.theory.flow import find_flat_state

NLGP, KUR = "NLGP(0.01)", "Kur(5)"
FLOWS = ("exact", "cubic")
COLUMNS = {"third": "simulated", "last": FLOWS}  # of the figure
KURTOSIS = {"Ising": (1.0, 1.0), NLGP: (2.99, 2.9992), KUR: (3.86, 4.2853)}  # printed, and right


def tabulate_fields(run: Neuron | Flow, result: Result) -> Iterator[dict[str, Any]]:
    """One row for each initialisation: the final field, and what is known about the data."""
    task = run.task
    assert isinstance(task, Discrimination)
    a = torch.linspace(0, 1, 201, dtype=torch.float64)
    excess = task.amplifier(a) - SLOPE * a
    start, end = (result.records[index].tensors["weights"] for index in (0, -1))
    return list_fields(
        {
            "model": task.title,
            "source": run.amplifier if isinstance(run, Flow) else "simulated",
            "batch": run.batch_size if isinstance(run, Neuron) else 0,
            "size": task.sites,
            "kurtosis": task.kurtosis(),
            "kurtosis_cut": task.truncated_kurtosis(10.0) if isinstance(task, Kur) else None,
            "phi_low": float(excess.min()),
            "phi_high": float(excess.max()),
            "flat": find_flat_state(task.covariance(0), task.covariance(1), task.amplifier),
        },
        init=torch.arange(run.inits),
        ipr=compute_ipr(end),
        peak=locate_peak(end),
        height=end.abs().amax(-1),
        rms=end.square().mean(-1).sqrt(),
        rms_start=start.square().mean(-1).sqrt(),
    )


def pair_fields(table: Frame, **which: Any) -> Frame:
    """Simulated and integrated fields of the same initialisation side by side, one row for each pair."""
    return rows(table, source="simulated").merge(rows(table, **which), on=["model", "init"], suffixes=("", "_flow"))


def shift_flows(table: Frame) -> Frame:
    """The null: each flow is compared with the simulation of the next initialisation."""
    following = (table["init"] + 1) % (table["init"].max() + 1)
    return table.assign(init=table["init"].where(table["source"] == "simulated", following))


class Fig3(Item):
    """Figure 3 of lufkin2024: a ReLU neuron on Ising, NLGP(0.01) and Kur(5) data against the integral of Eq. 5."""

    title = "One ReLU neuron on Ising, NLGP(0.01) and Kur(5) data against the integrated flow"
    size = (10, 12.5)
    open_choices = (
        "Ising: couplings 0.3 and 0.7; NLGP and Kur: lengthscales 1 and 3, N = 40 (from the authors' code)",
        "batch: the authors' notebook has 500 for Ising and 10,000 for the others; here the others have 500 at smoke "
        "scale and 5,000 at laptop scale; 300 and 250 were tried first for smoke scale, and at 250 the tails of "
        "Kur(5) raised one of 8 fields to 3.9/N (about 2% of the fields of six seeds), so that claim is sensitive "
        "to small batches",
        "the batch size for the 28 initialisations of §4.2 is not given: from laptop scale on a large batch is run "
        "as well",
        "all initialisations of a run see the same batches, and labels are drawn independently",
        "the flow uses exact covariances, both the exact φ and its cubic, and the ½ of Eq. 5",
        "'localised' means IPR ≥ 6/N, 'not localised' ≤ 3/N, as for Gaussian noise; the peak is where |w| is largest",
    )

    def runs(self, scale: Scale) -> list[Run]:
        neurons = [train_neuron(TASKS[0], batch, scale) for batch in SIZES[scale].ising_batches]
        neurons += [train_neuron(task, SIZES[scale].batch, scale) for task in TASKS[1:]]
        return [*neurons, *(flow for task in TASKS for flow in solve_flows(task, scale))]

    def table(self, results: Mapping[Run, Result]) -> Frame:
        return gather(results, tabulate_fields, (Neuron, Flow))

    def ideal(self) -> Frame:
        """The panels of Fig. 3: κ, fields, integrated ones more negative; peaks of 26 of 28 Ising fields are equal."""
        # For each model: κ, φ − √(2/π)a, IPR·N and height of simulated and integrated fields.
        panels = {
            "Ising": ((1.00, 0.0, 0.247), (34.0, 0.41), (12.0, 0.3)),
            NLGP: ((2.99, 0.0, 0.0), (1.5, 0.08), (1.5, 0.15)),
            KUR: ((3.86, -0.003, 0.014), (1.5, 0.08), (1.5, 0.125)),
        }
        found = []
        for model, ((kurtosis, low, high), *fields) in panels.items():
            law = {"model": model, "kurtosis": kurtosis, "kurtosis_cut": kurtosis, "phi_low": low, "phi_high": high}
            for source in ("simulated", *FLOWS):
                ipr, height = fields[source in FLOWS]
                known = law | {"source": source, "ipr": ipr / 40, "height": height, "rms": height}
                peaks = [7 * i + 10 * (source in FLOWS and i >= MATCHED) for i in range(28)]
                found += [known | {"init": init, "peak": peak % 40} for init, peak in enumerate(peaks)]
        return DataFrame(found).assign(size=40, flat=0.08, rms_start=0.007, batch=500)

    @claim(
        "{text}",
        at="Fig. 3 top, {column} column; §4.1",
        expect="{peak}",
        null=replace_rows({"model": "Ising"}, by={"model": NLGP}),
        each=[
            {
                "text": "A neuron trained on Ising data learns a localised field",
                "column": "third",
                "peak": "one peak of 0.41 on N = 40 sites (IPR·N = 34 in the authors' run)",
            },
            {"text": "Integrating Eq. 5 gives a localised field for Ising data", "column": "last", "peak": "one peak"},
        ],
    )
    def localised(table: Frame, column: str, **_: str) -> Verdict:
        fields = rows(table, model="Ising", source=COLUMNS[column])
        ipr = fields["ipr"] * fields["size"]
        parts = ipr.groupby(fields["source"], sort=False)
        seen = "; ".join(f"{source}: IPR·N {part.min():.1f}–{part.max():.1f}" for source, part in parts)
        return judge(ipr.min() >= LOCAL, f"{seen} (localised is ≥ {LOCAL:g})", len(fields))

    @claim(
        "{text}",
        at="Fig. 3 middle and bottom, {column} column; §4.1",
        expect="oscillatory or flat fields",
        null=replace_rows({"model": (NLGP, KUR)}, by={"model": "Ising"}),
        each=[
            {"text": "Neurons trained on NLGP(0.01) and Kur(5) data do not localise", "column": "third"},
            {"text": "Integrating Eq. 5 gives no localised field for NLGP(0.01) and Kur(5) data", "column": "last"},
        ],
    )
    def not_localised(table: Frame, column: str, **_: str) -> Verdict:
        fields = rows(table, model=(NLGP, KUR), source=COLUMNS[column])
        ipr = fields["ipr"] * fields["size"]
        parts = ipr.groupby([fields["model"], fields["source"]], sort=False)
        seen = "; ".join(f"{' '.join(names)}: IPR·N {part.min():.2f}–{part.max():.2f}" for names, part in parts)
        return judge(ipr.max() <= NOISE, f"{seen} (not localised is ≤ {NOISE:g})", len(fields))

    @claim(
        "On Ising data the integrated and the simulated field peak at exactly the same site",
        at="§4.2",
        expect="26 of 28 initialisations (93%)",
        null=shift_flows,
        decided_at="laptop",
    )
    def same_peaks(table: Frame) -> Verdict:
        pairs = pair_fields(table, model="Ising", source=FLOWS)
        apart = (pairs["peak"] - pairs["peak_flow"]) % pairs["size"]
        gaps = pairs.assign(amplifier=pairs["source_flow"], gap=np.minimum(apart, pairs["size"] - apart))
        note = "The only sweep of 28 in the authors' code history uses NLGP data, and there 26 is the count within ±1."
        return judge_peaks(gaps, note)

    @claim(
        "The localised bump of Eq. 5 is less peaked than the simulated one",
        at="§3.1",
        expect="less peaked",
        null=replace_rows({"source": "simulated"}, by={"source": "exact"}),
    )
    def less_peaked(table: Frame) -> Verdict:
        pairs = pair_fields(table, model="Ising", source=FLOWS)
        less = (pairs["height_flow"] < pairs["height"]) & (pairs["ipr_flow"] < pairs["ipr"])
        medians = pairs.groupby("source_flow", sort=False)[["height_flow", "ipr_flow"]].median()
        seen = [f"{source} φ: height {row.iloc[0]:.3f}, IPR {row.iloc[1]:.3f}" for source, row in medians.iterrows()]
        height, ipr = (rows(table, model="Ising", source="simulated")[name].median() for name in ("height", "ipr"))
        seen.append(f"simulated: height {height:.3f}, IPR {ipr:.3f} (medians)")
        return judge(less.all(), "; ".join(seen), len(pairs))

    @claim(
        "φ lies above its tangent for Ising, and on both sides of it for Kur(5)",
        at="§3.2; Fig. 3, second column",
        expect="super-linear for Ising; super- and sub-linear for Kur(5)",
        null=replace_rows({"model": ("Ising", KUR)}, by={"model": NLGP}),
    )
    def bent(table: Frame) -> Verdict:
        low, high = (table.groupby("model")[name].first() for name in ("phi_low", "phi_high"))
        good = (low["Ising"] >= 0, high["Ising"] > 0.01, low[KUR] < -1e-3, high[KUR] > 1e-3)
        seen = "; ".join(f"{of}: φ(a) − √(2/π)a from {low[of]:+.4f} to {high[of]:+.4f}" for of in ("Ising", KUR))
        return judge(all(good), f"{seen} on 0 ≤ a ≤ 1", len(good))

    @claim(
        "The marginals have the kurtosis κ = 1.00, 2.99 and 3.86",
        at="Fig. 3, second column",
        expect="1.00, 2.99, 3.86",
        null=replace_rows({"model": KUR}, by={"model": NLGP}),
    )
    def kurtosis(table: Frame) -> Verdict:
        found, cut = (table.groupby("model")[name].first() for name in ("kurtosis", "kurtosis_cut"))
        gaps = np.abs([np.array(values) - found[model] for model, values in KURTOSIS.items()])
        printed, right = gaps.max(axis=0) < (0.005, 5e-5)
        seen = ", ".join(f"{model} {found[model]:.4f}" for model in KURTOSIS)
        note = (
            f"Truncating the distribution at |x| ≤ 10 gives 3.86 ({cut[KUR]:.4f}), and so may a single sample: for k < "
            "8 the sample kurtosis has infinite variance. 2.99 is a sample value too."
        )
        return judge(printed, seen, len(KURTOSIS), "" if printed else note, corrected=right)

    @claim(
        "For NLGP(0.01) and Kur(5) the integrated steady state is more negative than the simulated one",
        at="§4.1; Fig. 3 middle and bottom",
        expect="−0.15 against −0.08 and −0.125 against −0.08",
        # A flow that stays where it starts.
        null=lambda table: table.assign(rms=table["rms"].where(table["source"] == "simulated", table["rms_start"])),
    )
    def more_negative(table: Frame) -> Verdict:
        pairs = pair_fields(table, model=(NLGP, KUR), source="cubic").eval("ratio = rms_flow / rms")
        medians = pairs.groupby("model", sort=False)[["rms_flow", "rms", "ratio", "flat"]].median()
        text = "{}: rms {rms_flow:.4f} integrated, {rms:.4f} simulated, median ratio {ratio:.2f} (flat fixed point "
        text += "{flat:.4f})"
        seen = "; ".join(text.format(model, **row) for model, row in medians.iterrows())
        note = (
            "With the factor ½ of Eq. 5 before φ, the integrated field is as large as the simulated one. Without it, "
            "as in the authors' integrator, it is twice as large, which is enough to explain the printed panels."
        )
        ratio = medians["ratio"]
        return judge(ratio.min() >= 1.5, seen, len(pairs), note, corrected=ratio.between(0.8, 1.25).all())

    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        """Of several batches the first, which is that of the paper, is shown."""
        fields = (("simulated field", "site i"), ("Eq. 5, exact φ", "site i"), ("Eq. 5, cubic φ", "site i"))
        panels = (("marginal of a pixel", "pixel value"), ("amplifier φ(a)", "a"), *fields)
        runs = [run for run in results if isinstance(run, Neuron | Flow)]
        grid = make_grid(figure, [task.title for task in TASKS], panels)
        a = torch.linspace(-1, 1, 201, dtype=torch.float64)
        for row, task in zip(grid.T, TASKS, strict=True):
            reach, bins = (1.5, 31) if task.kurtosis() == 1 else (4.0, 80)
            edges = torch.linspace(-reach, reach, bins + 1, dtype=torch.float64)
            row[0].stairs(task.cdf(edges).diff().numpy(), edges.numpy(), fill=True, color=BLUE)
            draw_amplifier(row[1], a, task.amplifier(a), expand_amplifier(a, task.kurtosis()))
            row[1].text(0.97, 0.05, f"κ = {task.kurtosis():.4g}", ha="right", transform=row[1].transAxes)
            neuron, *_, exact, rough = (run for run in runs if run.task == task)
            for axes, run in zip(row[2:], (neuron, exact, rough), strict=True):
                draw_path(axes, results[run].records, marked=True)
        add_legend(figure, grid[1], ncols=3, title=WHY_PEAKS_DIFFER)
        draw_time_bar(figure, grid[2:], TIME, "time t = steps × rate")
