"""The claims of `lufkin2024/fig7`, as pure functions of its table."""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from prunefield.papers import Claim, Verdict
from prunefield.papers.lufkin2024._fig6_claims import SCM
from prunefield.papers.lufkin2024._units import (
    NOISE,
    WHITE,
    compare_ranks,
    count_signs,
    describe,
    numbers,
    pick,
    put,
    whiten,
)

if TYPE_CHECKING:
    from pandas import DataFrame

SIGMOID, RELU = "two-layer, K = 10, sigmoid", "two-layer, K = {}, relu"
WIDTHS = (100, 10)  # of the authors' code and of the caption


def _judge(table: "DataFrame", measure: "Callable[[DataFrame], tuple[np.ndarray, str]]") -> Verdict:
    """The verdict on the sigmoid networks with the largest rate, which is the authors'; the others are a note."""
    rows = pick(table, SIGMOID, "Kur(4)")
    parts = [rows.query("rate == @rate") for rate in sorted(set(rows["rate"]), reverse=True)]
    first, *rest = (count_signs(*measure(part)) for part in parts)
    note = "; ".join(
        f"with rate {part['rate'].iloc[0]:g}: {found.observed}" for part, found in zip(parts[1:], rest, strict=True)
    )
    return replace(first, note=note)


def _measure_locality(rows: "DataFrame") -> "tuple[np.ndarray, str]":
    ipr = numbers(rows)
    return ipr <= NOISE, f"IPR·N {describe(ipr)}, at most the {NOISE:g} of noise"


def _measure_waves(rows: "DataFrame") -> "tuple[np.ndarray, str]":
    wave, limit = numbers(rows, "wave") * numbers(rows, "size"), WHITE * numbers(rows, "size")
    return wave > limit, f"mean wave number {describe(wave)}, above the {limit[0]:g} of white noise"


def _check_local(table: "DataFrame", network: str) -> Verdict:
    ipr = numbers(pick(table, network, "Kur(30)"))
    note = (
        "On 40 sites a Gaussian bump with a full width at half maximum of 12.5 sites has IPR·N = 3, a wider one less."
    )
    return count_signs(ipr > NOISE, f"IPR·N {describe(ipr)}, above the {NOISE:g} of noise", note)


def _check_contrast(table: "DataFrame", network: str) -> Verdict:
    ours, gaussian = (numbers(pick(table, network, data)) for data in ("Kur(30)", "NLGP(0.01)"))
    return compare_ranks(
        ours, gaussian, f"IPR·N {describe(ours)}; the same network on NLGP(0.01): {describe(gaussian)}"
    )


def _check_less(table: "DataFrame", network: str) -> Verdict:
    single, many = numbers(pick(table, "neuron", "Kur(30)")), numbers(pick(table, network, "Kur(30)"))
    return compare_ranks(single, many, f"IPR·N of single neurons {describe(single)}; of the units {describe(many)}")


def _check_rest(table: "DataFrame", network: str) -> Verdict:
    rows = pick(table, network, "Kur(30)").query("ipr_n <= @NOISE")
    wave = numbers(rows, "wave") * numbers(rows, "size")
    limit = WHITE / 2 * float(rows["size"].iloc[0])
    return count_signs(wave < limit, f"mean wave number {describe(wave)}, below {limit:g}, half that of white noise")


def _claim_relu(hidden: int) -> tuple[Claim, ...]:
    """The claims about the ReLU network, for a number of hidden units."""
    network = RELU.format(hidden)
    flat = put(network, "Kur(30)", "NLGP(0.01)")
    return (
        Claim(
            f"Most fields of a two-layer ReLU network on Kur(30) data are localised (K = {hidden})",
            "Fig. 7 bottom; §4.4",
            "3 of the 4 shown; criterion: more units than expected by chance above IPR·N = 3",
            lambda table: _check_local(table, network),
            flat,
            decided_at="laptop",
        ),
        Claim(
            f"Negative excess kurtosis makes them more local (K = {hidden})",
            "§4.4",
            "localisation is expected; criterion: more local than the same network on Gaussian data",
            lambda table: _check_contrast(table, network),
            flat,
        ),
        Claim(
            f"They are less local than the field of a single neuron (K = {hidden})",
            "§4.4",
            "less so than for a single neuron",
            lambda table: _check_less(table, network),
            put(network, "Kur(30)", "Kur(30)", "neuron"),
        ),
        Claim(
            f"Those that are not localised are low-frequency oscillations (K = {hidden})",
            "Fig. 7 bottom right; §4.4",
            "low frequency; criterion: a mean wave number below N/8 (white noise has N/4)",
            lambda table: _check_rest(table, network),
            whiten,
        ),
    )


CLAIMS = (
    Claim(
        "The fields of a two-layer sigmoid network on Kur(4) data are not localised",
        "Fig. 7 top; §4.4",
        "not localised; criterion: more units than expected by chance at IPR·N ≤ 3",
        lambda table: _judge(table, _measure_locality),
        put(SIGMOID, "Kur(4)", "Kur(10)", SCM),
        decided_at="laptop",
    ),
    Claim(
        "They look like high-frequency oscillations",
        "Fig. 7 top; §4.4",
        "high frequency; criterion: a mean wave number above the N/4 of white noise",
        lambda table: _judge(table, _measure_waves),
        whiten,
        decided_at="laptop",
    ),
    *(claim for hidden in WIDTHS for claim in _claim_relu(hidden)),
)
