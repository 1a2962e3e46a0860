"""The flow of Eq. 5 with the exact amplifier, relative to scipy's own cost for a linear right-hand side of that size.

The table of φ is made once for a law and kept; its cost in the first integration is a separate case.
"""

from collections.abc import Iterator

import torch

from benchmarks import Case
from prunefield.runs.neuron import draw_initial_weights
from prunefield.tasks import Discrimination
from prunefield.tasks.ising import Ising
from prunefield.tasks.kur import Kur
from prunefield.tasks.nlgp import Nlgp
from prunefield.theory.flow import integrate_flow
from prunefield.theory.interpolation import tabulate_function

SIZE, TIME, TOLERANCE = 100, 100.0, 1e-8


def cases() -> Iterator[Case]:
    tabulate_function(torch.sin)  # loads scipy
    tasks = [Ising(size=SIZE), Nlgp(size=SIZE, g=100.0, lengthscales=(0.3, 0.7)), Kur(size=SIZE, k=5.0)]
    for task in tasks:
        for fields in (1, 30):
            case = f"{task.title}, N = {SIZE}, {fields} field{'s' * (fields > 1)}, to t = {TIME:g}"
            target = "at most 3 × limit" if fields == 1 else ""
            ours, limit = _integrate_ours(task, fields), _integrate_linear(task, fields)
            yield Case(case, ours, limit=limit, limit_name="scipy on ẇ = A w", rounds=30, target=target)
        yield Case(f"{task.title}, the table of φ", lambda task=task: tabulate_function.__wrapped__(task.amplifier))


def _integrate_ours(task: Discrimination, fields: int):
    start, short, long = draw_initial_weights(0, fields, SIZE, 1e-3), task.covariance(0), task.covariance(1)

    def work() -> None:
        integrate_flow(start, [0.0, TIME], short, long, task.amplifier, tolerance=TOLERANCE)

    return work


def _integrate_linear(task: Discrimination, fields: int):
    """The flow without φ, ẇ = −½(Σ₀ + Σ₁)w: same method, tolerance, size and start."""
    from scipy.integrate import solve_ivp

    matrix = (-(task.covariance(0) + task.covariance(1)) / 2).numpy()
    start = draw_initial_weights(0, fields, SIZE, 1e-3).flatten().numpy()

    def velocity(_: float, flat):
        return flat.reshape(-1, SIZE).dot(matrix).ravel()

    def work() -> None:
        solve_ivp(velocity, (0.0, TIME), start, "DOP853", t_eval=[0.0, TIME], rtol=TOLERANCE, atol=TOLERANCE * 1e-3)

    return work
