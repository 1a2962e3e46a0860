"""The kind of processor, on which the last bits of sums depend."""

import platform
from functools import cache
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
KEYS = {"model name": "{}", "cpu family": "family {}", "model": "model {}"}  # what tells kinds apart, on Linux


@cache
def name_processor() -> str:
    """The processor and the widest instructions that torch uses on it, as in `AMD EPYC, family 25, model 1, AVX2`.

    Products and sums are rounded in an order that depends on both, so that the same run may have other last bits on
    another kind of processor.
    """
    import torch

    return ", ".join([*_describe(_read()), torch.backends.cpu.get_cpu_capability()])


def _read() -> str:
    try:
        return CPUINFO.read_text(errors="replace")
    except OSError:  # not on Linux
        return ""


def _describe(text: str) -> list[str]:
    """What is said of the first of several processors.

    >>> _describe("cpu family\\t: 25\\nmodel\\t: 1\\nmodel name\\t: AMD EPYC\\n\\ncpu family\\t: 6\\n")
    ['AMD EPYC', 'family 25', 'model 1']
    """
    pairs = (line.partition(":") for line in text.partition("\n\n")[0].splitlines())
    found = {key.strip(): value.strip() for key, _, value in pairs}
    named = [words.format(found[key]) for key, words in KEYS.items() if found.get(key)]
    return named or [platform.processor() or platform.machine()]
