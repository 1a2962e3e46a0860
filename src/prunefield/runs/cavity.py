"""Cavity scores of the first layer's weights at the rewind point, grouped by the round in which they are pruned."""

from collections.abc import Iterator
from typing import Annotated, ClassVar

import torch
from pydantic import Field
from torch import Tensor

from prunefield.core import seeds
from prunefield.core.plugin import Nested
from prunefield.measures.cavity import COLUMNS, score_weights
from prunefield.pruning.rounds import count_lifetimes
from prunefield.runs import Record, Run, State, Value
from prunefield.runs.imp import Imp, read_masks
from prunefield.runs.kurtosis import rewound_weight
from prunefield.tasks import draw_balanced

NAME = "layers.0.weight"
SCORES = ("exact", "of_mean", "pooled", "first", "corrected", "corrected_mean")


class Cavity(Run):
    """Mean cavity scores of weights by their fate, at θ(rewind)⊙m(n) (redman2025, eq. 5, Figs 5 and S4).

    One record per round n and group: `group` is the round in which a weight will be pruned, one more than the last
    round for survivors; `count` weights have the mean scores `exact` (eq. 5 in each class, then the mean), `of_mean`
    (eq. 5 of the mean kurtosis), `pooled` (all images as one class), `first` (first order of `exact`), `corrected` and
    `corrected_mean` (`exact` and `of_mean` without their bias for few images, see `Halves`). `per_unit` is N_W(n), the
    kept inputs of a unit on average; `excluded` weights have no score in any class. `by` is `fate`, or a control:
    `shuffled`, fates permuted among the weights of a unit; `magnitude`, groups of the same sizes by |θ(rewind)|, the
    smallest first; `oneshot`, masks and fates of one-shot pruning. With `by` = `all` there is one record per round: the
    correlations of `exact` (`pearson_w`, …) and of `corrected` (`corrected_pearson_w`, …) with w and |w|, and as
    tensors a random part of the weights with both scores: `weight`, `score`, `corrected`.
    """

    version: ClassVar[int] = 3  # corrected scores; in 2, an input that is constant within a class has the score 0 there

    of: Annotated[Imp, Nested()] = Field(description="the imp run whose weights are scored")
    per_class: int = Field(default=50, ge=8, description="held-out images of each class")
    rounds: tuple[Annotated[int, Field(ge=0)], ...] = Field(
        default=(), description="rounds n to score; by default all but the last"
    )
    pairs: int = Field(default=2_000, ge=1, description="number of (weight, score) pairs to record")

    def seconds(self) -> float:
        # Measured at 256 × 3072 weights and 5,000 images: 0.9 to 1.8 s a scoring at any density, six of them a round.
        imp = self.of
        images = self.per_class * imp.task.classes
        return 6 * len(self._rounds) * imp.hidden[0] * imp.widths[0] * images * 3.2e-10 + 4e-5 * images + 1

    @property
    def _rounds(self) -> tuple[int, ...]:
        return tuple(n for n in self.rounds if n < self.of.rounds) if self.rounds else tuple(range(self.of.rounds))

    def __call__(self, state: State) -> Iterator[Record | None]:
        imp = self.of
        records = state.read(imp).records
        batch = draw_balanced(imp.task, self.per_class, generator=seeds.generator(imp.seed, "cavity"))
        start = records[0].tensors[f"rewind:{NAME}"]
        folded = rewound_weight(imp, records[0].tensors, batch.x)
        masks = {method: read_masks(imp, records, method) for method in ("imp", "oneshot")}
        fates = {method: count_lifetimes(kept)[NAME].long() + 1 for method, kept in masks.items()}
        for place, n in enumerate(self._rounds):
            if state.values.get("place", 0) > place:
                continue
            found: list[Record] = []
            for method in ("imp", "oneshot"):
                kept = masks[method][n][NAME]
                scores = score_weights(folded, batch.x, batch.y, mask=kept, columns=COLUMNS)
                scores["pooled"] = score_weights(folded, batch.x, mask=kept)["exact"]
                columns = {name: scores[name][kept] for name in SCORES}
                groups = (
                    {"oneshot": fates["oneshot"][kept]}
                    if method == "oneshot"
                    else self._groups(n, fates["imp"], kept, start)
                )
                for by, group in groups.items():
                    found += [Record({"round": n, "by": by, **row}) for row in average_scores(columns, group, kept)]
                if method == "imp":
                    found.append(self._correlate(n, start[kept], columns))
            for index in range(state.values.get("record", 0), len(found)):
                last = index + 1 == len(found)
                state.values.update(place=place + last, record=0 if last else index + 1)
                state.done = (place + last) / len(self._rounds)
                yield found[index]

    def _groups(self, n: int, fates: Tensor, kept: Tensor, start: Tensor) -> dict[str, Tensor]:
        fate = fates[kept]
        units = torch.nonzero(kept)[:, 0]
        key = torch.randperm(len(units), generator=seeds.generator(self.of.seed, "shuffled fates", n))
        mixed = key[units[key].argsort(stable=True)]  # sorted by unit like the weights, at random within each
        small = torch.empty_like(fate)
        small[start[kept].abs().argsort(stable=True)] = fate.sort().values
        return {"fate": fate, "shuffled": fate[mixed], "magnitude": small}

    def _correlate(self, n: int, weight: Tensor, columns: dict[str, Tensor]) -> Record:
        scores = {"": columns["exact"], "corrected_": columns["corrected"]}
        there = ~torch.stack(list(scores.values())).isnan().any(0)
        weight = weight[there].double()
        values: dict[str, Value] = {"round": n, "by": "all", "count": len(weight)}
        for prefix, score in scores.items():
            for name, column in (("w", weight), ("abs_w", weight.abs())):
                values[f"{prefix}pearson_{name}"] = _pearson(column, score[there])
                values[f"{prefix}spearman_{name}"] = _pearson(_rank(column), _rank(score[there]))
        some = torch.randperm(len(weight), generator=seeds.generator(self.of.seed, "pairs", n))[: self.pairs]
        drawn = {"score": scores[""][there][some], "corrected": scores["corrected_"][there][some]}
        return Record(values, {"weight": weight[some], **drawn})


def average_scores(columns: dict[str, Tensor], group: Tensor, kept: Tensor) -> list[dict[str, Value]]:
    """Mean scores of the kept weights of each group; a weight without a score is counted and left out."""
    there = ~(columns["exact"].isnan() | columns["pooled"].isnan())
    rows: list[dict[str, Value]] = []
    for label in group.unique().tolist():
        chosen = (group == label) & there
        count = int(chosen.sum())
        means = {name: _mean(column[chosen]) for name, column in columns.items()}
        excluded = int((group == label).sum()) - count
        rows.append(
            {"group": label, "count": count, "excluded": excluded, "per_unit": int(kept.sum()) / len(kept), **means}
        )
    return rows


def _mean(values: Tensor) -> float | None:
    """The mean without NaN, which a corrected score may be although the others are not."""
    there = ~values.isnan()
    return values[there].mean().item() if there.any() else None


def _rank(values: Tensor) -> Tensor:
    return values.argsort().argsort().double()


def _pearson(first: Tensor, second: Tensor) -> float | None:
    if len(first) < 3 or float(first.std()) == 0 or float(second.std()) == 0:
        return None
    return torch.corrcoef(torch.stack([first, second]))[0, 1].item()
