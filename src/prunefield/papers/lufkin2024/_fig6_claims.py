"""The claims of `lufkin2024/fig6`, as pure functions of its table."""

from typing import TYPE_CHECKING

import numpy as np

from prunefield.papers import Claim, Verdict
from prunefield.papers.lufkin2024._units import LOCAL, NOISE, WHITE, count_signs, describe, numbers, pick, put, whiten

if TYPE_CHECKING:
    from pandas import DataFrame

SCM = "soft committee, sigmoid"
SIZE = 40  # the paper's


def _check_local(table: "DataFrame") -> Verdict:
    ipr = numbers(pick(table, SCM, "Kur(10)", SIZE))
    return count_signs(ipr > NOISE, f"IPR·N {describe(ipr)}, above the {NOISE:g} of noise")


def _check_sharp(table: "DataFrame") -> Verdict:
    rows = pick(table, SCM, "Kur(10)")
    sizes = sorted(set(rows["size"]))
    medians = {size: float(np.median(numbers(rows.query("size == @size")))) for size in sizes}
    seen = "; ".join(f"N = {size}: IPR·N {describe(numbers(rows.query('size == @size')))}" for size in sizes)
    seen += f" (the median must be ≥ {LOCAL:g})"
    local = [size for size in sizes if medians[size] >= LOCAL]
    status = "reproduced" if SIZE in local else "corrected" if local else "not reproduced"
    note = (
        "The saved outputs of the authors' notebook have N = 100, which is run from laptop scale on. The criterion "
        "is that of the single neuron in Fig. 3: a Gaussian bump with a full width at half maximum of 6.3 sites, on "
        "40 sites."
    )
    return Verdict(status, seen, len(rows), note)


def _check_diffuse(table: "DataFrame") -> Verdict:
    ipr = numbers(pick(table, SCM, "Kur(4)", SIZE))
    return count_signs(ipr <= NOISE, f"IPR·N {describe(ipr)}, at most the {NOISE:g} of noise")


def _check_low(table: "DataFrame") -> Verdict:
    wave = numbers(pick(table, SCM, "Kur(4)", SIZE), "wave") * SIZE
    limit = WHITE / 2 * SIZE
    return count_signs(wave < limit, f"mean wave number {describe(wave)}, below {limit:g}, half that of white noise")


def _check_ica(data: str):
    def check(table: "DataFrame") -> Verdict:
        ipr = numbers(pick(table, "ICA", data))
        good = ipr >= LOCAL
        seen = f"IPR·N {describe(ipr)}; {good.sum()} of {len(good)} components localised (≥ {LOCAL:g})"
        return Verdict("reproduced" if len(good) and good.all() else "not reproduced", seen, len(good))

    return check


CLAIMS = (
    Claim(
        "The fields of a soft committee of 10 sigmoid units on Kur(10) data are localised",
        "Fig. 6 left; §4.4",
        "localised; criterion: more units than expected by chance above IPR·N = 3",
        _check_local,
        put(SCM, "Kur(10)", "Kur(4)"),
    ),
    Claim(
        "They are sharply localised (N = 40)",
        "Fig. 6 left; §4.4",
        "sharply localised; criterion: a median IPR·N ≥ 6",
        _check_sharp,
        put(SCM, "Kur(10)", "Kur(4)"),
        decided_at="laptop",
    ),
    Claim(
        "On Kur(4) data they are not localised",
        "Fig. 6 centre; §4.4",
        "not localised; criterion: more units than expected by chance at IPR·N ≤ 3",
        _check_diffuse,
        put(SCM, "Kur(4)", "Kur(10)"),
    ),
    Claim(
        "On Kur(4) data they look like low-frequency oscillations",
        "Fig. 6 centre; §4.4",
        "low frequency; criterion: a mean wave number below N/8 (white noise has N/4)",
        _check_low,
        whiten,
        decided_at="laptop",
    ),
    Claim(
        "The components that ICA finds in Kur(3) data are localised",
        "Fig. 6 right; §4.4",
        "localised; criterion: all with IPR·N ≥ 6",
        _check_ica("Kur(3)"),
        put("ICA", "Kur(3)", "NLGP(0.01)"),
    ),
    Claim(
        "For ICA the sign of the excess kurtosis is irrelevant as long as it is not zero: it localises on Kur(10) too",
        "§4.4",
        "localised; criterion: all with IPR·N ≥ 6",
        _check_ica("Kur(10)"),
        put("ICA", "Kur(10)", "NLGP(0.01)"),
        decided_at="laptop",
    ),
)
