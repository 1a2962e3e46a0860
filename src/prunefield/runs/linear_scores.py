"""SynFlow and SNIP scores of a linear model, compared with the probabilities of sketching."""

from collections.abc import Iterator
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn

from prunefield.masks.mask import Mask
from prunefield.modules.outlines import allocate_
from prunefield.runs import Record, Run, State
from prunefield.scores import Score
from prunefield.tasks import Batch
from prunefield.theory.linear_scores import binary_error, score_flow, score_sensitivity, unbracketed_sensitivity
from prunefield.theory.sketch_bounds import gaussian_error
from prunefield.theory.sketching import expected_error, optimal_probabilities


class LinearScores(Run):
    """Scores a linear model with this package's `synflow` and `snip` and compares with p0 (bar2023, Sections 5 and 6).

    X is Gaussian/√n, or `single`: every feature is non-zero in one example, chosen at random. SynFlow is fed with ones,
    with the norms ‖X_(i)‖, and with those of other inputs (χ); SNIP has the ℓ1 loss and Gaussian labels. For each rule
    the tensors hold, per case, the largest distance of its normalised scores to p0 (relative to the largest p0), their
    correlation and the expected error of Algorithm 1 over the optimum; and the distances to the closed forms. At the
    end are errors relative to ‖w‖² that Gaussian X would give at `density`: of Algorithm 1, and of binary masks of the
    largest scores, sampled by the scores, and drawn uniformly.
    """

    dimension: int = Field(default=50, ge=2, description="number of weights d")
    examples: int = Field(default=128, ge=1, description="number of examples n")
    data: Literal["dense", "single"] = Field(default="dense", description="X dense, or with one non-zero entry per row")
    label: float = Field(default=1.0, ge=0, description="standard deviation of the labels")
    density: float = Field(default=0.1, gt=0, lt=1, description="fraction of weights that the compared masks keep")
    cases: int = Field(default=20, ge=1, description="number of models to draw")
    seed: int = Field(default=0, ge=0, description="seed of inputs, weights and labels")

    def __call__(self, state: State) -> Iterator[Record | None]:
        stream = state.generator(self.seed, "cases")
        flow = Score.parse({"kind": "synflow", "inputs": "batch"})
        snip = Score.parse({"kind": "snip", "loss": "l1"})
        rows = state.tensor("rows", lambda: torch.zeros(self.cases, len(COLUMNS), dtype=torch.float64))
        while (case := state.values.setdefault("drawn", 0)) < self.cases:
            rows[case] = torch.stack(self._score(flow, snip, stream))
            state.values["drawn"] = case + 1
            state.done = (case + 1) / self.cases
            if case + 1 < self.cases:
                yield None
            else:
                yield Record({"cases": self.cases}, dict(zip(COLUMNS, rows.T.contiguous(), strict=True)))

    def _score(self, flow: Score, snip: Score, stream: torch.Generator) -> list[Tensor]:
        d, n = self.dimension, self.examples
        x, other = (torch.randn(d, n, dtype=torch.float64, generator=stream) / n**0.5 for _ in range(2))
        if self.data == "single":
            chosen = torch.randint(n, (d, 1), generator=stream)
            x = torch.zeros_like(x).scatter_(1, chosen, torch.randn(d, 1, dtype=torch.float64, generator=stream))
        w = torch.randn(d, dtype=torch.float64, generator=stream)
        y = self.label * torch.randn(n, dtype=torch.float64, generator=stream)
        net = allocate_(nn.Linear(d, 1, bias=False, dtype=torch.float64, device="meta"))
        with torch.no_grad():
            net.weight.copy_(w)

        def feed(entry: Tensor) -> Tensor:
            batch = Batch(entry.unsqueeze(0), torch.zeros(1, dtype=torch.long))
            return flow(net, [batch], generator=stream)["weight"].flatten()

        norms = x.norm(dim=1)
        sensitivity = snip(net, [Batch(x.T, y.unsqueeze(1))], generator=stream)["weight"].flatten()
        rules = (feed(norms), feed(torch.ones_like(w)), feed(other.norm(dim=1)), sensitivity)
        p0 = optimal_probabilities(w, x)
        best = expected_error(x, w, p0, 1)
        found: list[Tensor] = []
        for scores in rules:
            p = optimal_probabilities(scores)
            found += [(p - p0).abs().max() / p0.max(), torch.corrcoef(torch.stack([p, p0]))[0, 1]]
            found += [expected_error(x, w, p, 1) / best]
        printed = unbracketed_sensitivity(w, x, y)
        found += [_distance(rules[0], score_flow(w, norms)), _distance(sensitivity, score_sensitivity(w, x, y))]
        found += [_distance(sensitivity, printed), (printed < 0).double().mean()]
        return found + self._errors(w, rules[1], stream)

    def _errors(self, w: Tensor, scores: Tensor, stream: torch.Generator) -> list[Tensor]:
        rated = {"weight": scores}
        hard, drawn = Mask.keep(rated, self.density), Mask.sample(rated, self.density, generator=stream)
        s = int(hard["weight"].sum())
        errors = [gaussian_error(w, w, s, self.examples), *(binary_error(w, m["weight"]) for m in (hard, drawn))]
        return [error / w.square().sum() for error in errors] + [torch.tensor(1 - s / len(w), dtype=torch.float64)]


RULES = ("norms", "ones", "chi", "snip")
COLUMNS = (
    *(f"{rule}_{what}" for rule in RULES for what in ("gap", "correlation", "excess")),
    "flow_formula",
    "snip_formula",
    "snip_printed",
    "snip_negative",
    "sketched",
    "hard",
    "drawn",
    "even",
)


def _distance(scores: Tensor, formula: Tensor) -> Tensor:
    return (scores - formula).abs().max() / scores.abs().max()
