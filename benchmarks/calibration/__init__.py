"""How often sure answers of `predict` are correct: samples of known laws against the exact flow of each law."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from prunefield import Task
from prunefield.core.seeds import generator
from prunefield.measures.localisation import compute_ipr
from prunefield.measures.prediction import judge_widths, predict
from prunefield.modules.glorot import draw_glorot
from prunefield.theory import amplifier
from prunefield.theory.flow import integrate_flow

SCALES = ((0.3, 0.7), (1.0, 2.0), (1.0, 3.0))
LAWS: list[dict[str, Any]] = [
    *({"kind": "ising", "couplings": pair} for pair in ((0.3, 0.7), (0.1, 1.2), (0.5, 0.6))),
    *({"kind": "nlgp", "g": g, "lengthscales": pair} for g in (0.01, 0.3, 0.5, 1.0, 100.0) for pair in SCALES),
    *({"kind": "kur", "k": k, "lengthscales": pair} for k in (3.0, 5.0, 6.0, 7.0, 10.0) for pair in SCALES),
    *({"kind": "gaussian", "lengthscales": pair} for pair in SCALES),
    *({"kind": "elliptical", "law": law} for law in ("student-t", "shell")),
]
SIZES = (40, 100)
EXAMPLES = (500, 1000, 4000, 20_000, 100_000)


class Case(NamedTuple):
    """One sample of a law: the exact answer, and that of `predict` with its certainty."""

    law: str
    sites: int
    examples: int
    truth: str
    answer: str
    leaning: str
    certainty: float

    @property
    def wrong(self) -> bool:
        """Whether a sure answer is wrong; laws on the border between yes and no have no exact answer."""
        return self.answer != "undecided" and self.truth != "undecided" and self.answer != self.truth


def answer_exactly(task: Any, *, time: float = 1000.0, inits: int = 9) -> str:
    """The answer of Eq. 5 with the exact covariances and amplifier of the law, by another integrator than predict's.

    For elliptical data φ is a straight line, whatever their marginal law (lufkin2024, Proposition 3.3).
    """
    start = draw_glorot(inits, task.sites, 1, scale=1e-3, generator=generator(1, "truth"))
    covariances = task.covariance(0), task.covariance(1)
    straight = integrate_flow(start, [0.0, time], *covariances, amplifier.amplify_gaussian)[-1]
    if task.kind() in ("elliptical", "gaussian"):
        return "no"
    bent = integrate_flow(start, [0.0, time], *covariances, task.amplifier)[-1]
    return judge_widths(compute_ipr(straight) / compute_ipr(bent))


def try_cases(laws: list[dict[str, Any]], sizes: tuple[int, ...], counts: tuple[int, ...], seed: int) -> Iterator[Case]:
    """A prediction for every law, number of sites and number of examples, each from a new sample."""
    for settings in laws:
        for size in sizes:
            task: Any = Task.parse({**settings, "size": size})
            truth = answer_exactly(task)
            pair = settings.get("lengthscales", settings.get("couplings", (1.0, 3.0)))
            for count in counts:
                batch = task.sample(count, generator=generator(seed, "calibration", str(settings), size, count))
                found = predict(batch.x, batch.y, task.shape, seed=seed)
                law = f"{task.title} {pair}"
                yield Case(law, size, count, truth, found.answer, found.leaning, found.certainty)
