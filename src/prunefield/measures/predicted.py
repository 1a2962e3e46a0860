"""A prediction: the answer, what it rests on, and how it is shown."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from prunefield.core.display import Displayed
from prunefield.measures.examples import has_channels_last
from prunefield.measures.excess import Excess
from prunefield.measures.stimulus import Answer
from prunefield.theory.amplifier import SLOPE

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


@dataclass(frozen=True, repr=False)
class Prediction(Displayed):
    """What the data say, and what the flow of Eq. 5 (lufkin2024) makes of it from several initial weights.

    `answer` is yes or no where `certainty` is at least 0.95, else undecided; `leaning` is the answer of the whole
    sample, and `certainty` is (k + ½)/(r + 1) where k of r resamples of the data give it too. `needed` is roughly
    how many examples would decide an undecided case (None where it is decided, or where no number may). `fields`
    (inits, N) are the weights at the end, 0 at inputs that were left out, `widths` (inits,) their 1/IPR in inputs,
    `straight` (inits,) the same for Gaussian data of the same covariances, `concentration` (inits,) IPR × N,
    `peaks` (inits,) where |w| is largest, `steadiness` (inits,) the share of resamples in which the peak is the
    same, give or take one site. `lengthscale` is Σ ρ² over all lags in class 1, in sites. `covariances` (2, sites)
    are those of the middle site in class 0 and 1, `amplifier` (2, k) is φ on a grid. `caveats` say what was left
    out, and what to beware of.
    """

    answer: str
    leaning: str
    certainty: float
    needed: int | None
    examples: int
    time: float
    shape: tuple[int, ...]
    properties: dict[str, Answer]
    excess: Excess
    fields: Tensor
    widths: Tensor
    straight: Tensor
    concentration: Tensor
    peaks: Tensor
    steadiness: Tensor
    lengthscale: float
    covariances: Tensor
    amplifier: Tensor
    caveats: tuple[str, ...]
    size = (10.0, 3.0)

    @property
    def picture(self) -> Tensor:
        """The field of the first initialisation, (N,) or (height, width), summed over channels (one is not 0)."""
        field = self.fields[0].view(self.shape)
        return field if field.ndim < 3 else field.sum(-1 if has_channels_last(self.shape) else 0)

    @property
    def title(self) -> str:
        return self.describe()[0]

    def notes(self) -> list[str]:
        return self.describe()[1:]

    def __str__(self) -> str:
        return "\n".join([*self.describe(), *self._list_fields()])

    def describe(self) -> list[str]:
        """The answer in sentences: the verdict first, then what it rests on."""
        width, straight = float(self.widths.median()), float(self.straight.median())
        text = {
            "yes": f"Yes, a ReLU neuron will localise ({self.certainty:.0%} certain)",
            "no": f"No, a ReLU neuron will not localise ({self.certainty:.0%} certain)",
            "undecided": f"Undecided, leaning towards {self.leaning} ({self.certainty:.0%} of the resamples agree)"
            if self.leaning != "undecided"
            else "Undecided: the fields are neither local nor spread out",
        }[self.answer]
        more = f" About {self.needed:,} examples would decide it." if self.needed else ""
        unmet = [name for name, check in self.properties.items() if not check.met]
        return [
            f"{text}: at t = {self.time:g} the field is {width:.1f} inputs wide; Gaussian data of the same covariances "
            f"give {straight:.1f}, and inputs are correlated over {self.lengthscale:.1f}.{more}",
            *(
                f"{name}: {'met' if check.met else 'NOT met'} (effect {check.effect:.3f}, p = {check.p:.2g})"
                for name, check in self.properties.items()
            ),
            self.excess.describe(),
            *(f"Note: {note}." for note in self.caveats),
            *(
                [f"Treat this with care: the theory assumes what is not met here ({', '.join(unmet)})."]
                if unmet
                else []
            ),
        ]

    def frame(self) -> "DataFrame":
        """One row per initialisation: its field at the end, and that for Gaussian data of the same covariances."""
        from pandas import DataFrame

        return DataFrame(
            {
                "start": range(len(self.widths)),
                "width": self.widths.numpy(),
                "width_straight": self.straight.numpy(),
                "ipr_times_n": self.concentration.numpy(),
                "peak": self._name_peaks(),
                "steadiness": self.steadiness.numpy(),
            }
        )

    def as_json(self) -> dict[str, Any]:
        """The prediction as plain values."""
        return {
            "answer": self.answer,
            "leaning": self.leaning,
            "certainty": self.certainty,
            "needed": self.needed,
            "examples": self.examples,
            "properties": {name: check._asdict() for name, check in self.properties.items()},
            "excess_kurtosis": {**self.excess._asdict(), "doubtful": self.excess.doubtful},
            "widths": self.widths.tolist(),
            "widths_straight": self.straight.tolist(),
            "lengthscale": self.lengthscale,
            "ipr_times_n": self.concentration.tolist(),
            "peaks": self.peaks.tolist(),
            "steadiness": self.steadiness.tolist(),
            "notes": list(self.caveats),
        }

    def draw(self, figure: "Figure") -> None:
        """The amplifier with the line that divides, the covariances and the fields."""
        phi, rows, fields = figure.subplots(1, 3)
        grid, values = self.amplifier
        phi.plot(grid, SLOPE * grid, "--", color="0.5", label="√(2/π) a: above it localises")
        phi.plot(grid, values, color="black", label="φ(a) of the data")
        phi.set(xlabel="a", title="amplifier")
        phi.legend(loc="lower right")
        for label, covariance in enumerate(self.covariances):
            rows.plot(covariance, label=f"class {label}")
        rows.set(xlabel="site", title="covariance with the middle site")
        rows.legend()
        if len(self.shape) == 1:
            fields.plot(self.fields.T)
            fields.set(xlabel="input", title="predicted fields")
        else:
            most = float(self.picture.abs().max())
            image = fields.imshow(self.picture.numpy(), cmap="RdBu_r", vmin=-most, vmax=most)
            fields.set(title="predicted field of start 0")
            figure.colorbar(image, label="weight")

    def _name_peaks(self) -> list[str]:
        """The place of each peak in an input."""
        places = [torch.unravel_index(peak, self.shape) for peak in self.peaks]
        return [", ".join(str(int(axis)) for axis in place) for place in places]

    def _list_fields(self) -> list[str]:
        """Where the field of each initialisation ends."""
        return [
            f"  start {index}: {float(width):.1f} inputs wide, peak at {place}, "
            f"the same in {float(steady):.0%} of the resamples"
            for index, (width, place, steady) in enumerate(
                zip(self.widths, self._name_peaks(), self.steadiness, strict=True)
            )
        ]
