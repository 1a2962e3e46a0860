"""Fig. 3 of lufkin2024: one neuron on three kinds of data, simulated and integrated."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import torch

from prunefield.measures.localisation import compute_ipr, locate_peak
from prunefield.papers import Item, Scale
from prunefield.papers.lufkin2024._fig3_claims import CLAIMS, MATCHED, TRIED
from prunefield.runs import Result, Run
from prunefield.runs.flow import Flow
from prunefield.runs.neuron import Neuron
from prunefield.tasks import Discrimination
from prunefield.tasks.ising import Ising
from prunefield.tasks.kur import Kur
from prunefield.tasks.nlgp import Nlgp
from prunefield.theory.amplifier import SLOPE
from prunefield.theory.flow import find_flat_state

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

# For each scale: initialisations; batches for Ising; batch for the two others; records in the whole time.
SIZES: dict[Scale, tuple[int, tuple[int, ...], int, int]] = {
    "smoke": (8, (500,), 500, 20),
    "laptop": (28, (500, 8000), 5000, 40),
    "paper": (28, (500, 50_000), 10_000, 200),
}
RATE, STEPS = 0.05, 2000


class Fig3(Item):
    """Figure 3 of lufkin2024: a ReLU neuron on Ising, NLGP(0.01) and Kur(5) data against the integral of Eq. 5."""

    title = "One ReLU neuron on Ising, NLGP(0.01) and Kur(5) data against the integrated flow"
    open_choices = (
        "Ising: couplings 0.3 and 0.7; NLGP and Kur: lengthscales 1 and 3, N = 40 (from the authors' code)",
        "batch: the authors' notebook has 500 for Ising and 10,000 for the others; here the others have 500 at smoke "
        "scale and 5,000 at laptop scale; 300 and 250 were tried first for smoke scale, and at 250 the tails of "
        "Kur(5) raised one of 8 fields to 3.9/N (about 2 % of the fields of six seeds), so that claim is sensitive "
        "to small batches",
        "the batch size for the 28 initialisations of §4.2 is not given: from laptop scale on a large batch is run "
        "as well",
        "all initialisations of a run see the same batches, and labels are drawn independently",
        "the flow uses exact covariances, both the exact φ and its cubic, and the ½ of Eq. 5",
        "'localised' means IPR ≥ 6/N, 'not localised' IPR ≤ 3/N, as Gaussian noise has 3/N; the peak is where |w| is "
        "largest",
    )
    claims = CLAIMS

    def runs(self, scale: Scale) -> list[Run]:
        inits, ising_batches, batch, records = SIZES[scale]
        tasks: list[tuple[Discrimination, tuple[int, ...]]] = [
            (Ising(), ising_batches),
            (Nlgp(g=0.01), (batch,)),
            (Kur(k=5.0), (batch,)),
        ]
        every, time = STEPS // records, STEPS * RATE
        neurons = [
            Neuron(task=task, inits=inits, rate=RATE, batch=size, steps=STEPS, record_every=every)
            for task, sizes in tasks
            for size in sizes
        ]
        flows = [
            Flow(task=task, inits=inits, amplifier=amplifier, time=time, record_every=time / records)
            for task, _ in tasks
            for amplifier in ("exact", "cubic")
        ]
        return [*neurons, *flows]

    def table(self, results: Mapping[Run, Result]) -> "DataFrame":
        import pandas as pd

        return pd.DataFrame([row for run, result in results.items() for row in _rows(run, result)])

    def ideal(self) -> "DataFrame":
        """The panels of Fig. 3: κ, fields, integrated ones more negative; peaks of 26 of 28 Ising fields are equal."""
        import pandas as pd

        # For each model: κ, φ − √(2/π)a, IPR·N and height of simulated and integrated fields.
        panels = {
            "Ising": ((1.00, 0.0, 0.247), (34.0, 0.41), (12.0, 0.3)),
            "NLGP(0.01)": ((2.99, 0.0, 0.0), (1.5, 0.08), (1.5, 0.15)),
            "Kur(5)": ((3.86, -0.003, 0.014), (1.5, 0.08), (1.5, 0.125)),
        }
        found = []
        for model, ((kurtosis, low, high), *fields) in panels.items():
            law = {"model": model, "size": 40, "kurtosis": kurtosis, "kurtosis_cut": kurtosis, "flat": 0.08}
            law |= {"phi_low": low, "phi_high": high, "rms_start": 0.007, "batch": 500}
            for source in ("simulated", "exact", "cubic"):
                ipr, height = fields[source != "simulated"]
                known = law | {"source": source, "ipr": ipr / 40, "height": height, "rms": height}
                off = 0 if source == "simulated" else 10
                found += [known | {"init": i, "peak": (7 * i + off * (i >= MATCHED)) % 40} for i in range(TRIED)]
        return pd.DataFrame(found)

    def draw(self, table: "DataFrame", results: Mapping[Run, Result]) -> "Figure":
        from prunefield.papers.lufkin2024._fig3_drawing import draw

        return draw(results)


def _rows(run: Run, result: Result) -> Iterator[dict[str, Any]]:
    """One row for each initialisation: the final field, and what is known about the data."""
    if not isinstance(run, Neuron | Flow):
        return
    task = run.task
    a = torch.linspace(0, 1, 201, dtype=torch.float64)
    excess = task.amplifier(a) - SLOPE * a
    known = {
        "model": task.title,
        "source": run.amplifier if isinstance(run, Flow) else "simulated",
        "batch": run.batch if isinstance(run, Neuron) else 0,
        "size": task.size,
        "kurtosis": task.kurtosis(),
        "kurtosis_cut": task.truncated_kurtosis(10.0) if isinstance(task, Kur) else None,
        "phi_low": float(excess.min()),
        "phi_high": float(excess.max()),
        "flat": find_flat_state(task.covariance(0), task.covariance(1), task.amplifier),
    }
    start, end = (result.records[index].tensors["weights"] for index in (0, -1))
    columns = {
        "ipr": compute_ipr(end),
        "peak": locate_peak(end),
        "height": end.abs().amax(-1),
        "rms": end.square().mean(-1).sqrt(),
        "rms_start": start.square().mean(-1).sqrt(),
    }
    for init in range(len(end)):
        yield {**known, "init": init, **{name: column[init].item() for name, column in columns.items()}}
