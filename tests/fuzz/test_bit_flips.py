"""One flipped bit anywhere in a store: it is noticed, or it changes no result. `-m slow -s` prints the table."""

import random
import shutil
import warnings
from collections import Counter
from pathlib import Path

import pytest
from toy import Toy

from prunefield.core.errors import Error
from prunefield.lab.execution import Pace, obtain
from prunefield.lab.folder import RunFolder
from prunefield.lab.store import Store
from prunefield.runs import Result
from prunefield.runs.imp import Imp
from prunefield.runs.neuron import Neuron
from prunefield.tasks.ising import Ising
from prunefield.tasks.leaves import Leaves

LEAVES = Leaves(side=8, count=8, largest=4, categories=3)
RUNS = [
    Toy(steps=20),
    Neuron(task=Ising(size=12), inits=3, batch_size=40, steps=23, record_every=5),
    Imp(task=LEAVES, hidden=(12, 10), steps=30, rewind=7, rounds=2, held_out=40, batch_size=10),
]
SAFE_POINTS_BEFORE_DEATH = 7
OUTCOMES = ("refused", "set aside, same result", "harmless", "silently wrong")


class Killed(BaseException):
    """As if the process had died."""


@pytest.fixture
def finished(tmp_path):
    store = Store(tmp_path / "finished")
    for run in RUNS:
        obtain(store, run)
    return store


@pytest.fixture
def unfinished(tmp_path):
    """Every run was killed after its seventh safe point, and one after a failure besides."""
    store, written, save = Store(tmp_path / "unfinished"), [], RunFolder.save

    def die(folder, state, records):
        save(folder, state, records)
        folder.show_progress(state.done)
        written.append(folder)
        if len(written) % SAFE_POINTS_BEFORE_DEATH == 0:
            raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RunFolder, "save", die)
        patch.setattr(Pace, "is_due", lambda self, now: True)
        for run in RUNS:
            with pytest.raises(Killed):
                obtain(store, run)
    store.folder(RUNS[0]).fail("it failed", "", [])
    return store


def is_same(one: Result, other: Result) -> bool:
    """Every bit of the records, and the digest."""
    return one.digest == other.digest and all(
        a.values == b.values
        and a.tensors.keys() == b.tensors.keys()
        and all(a.tensors[name].numpy().tobytes() == b.tensors[name].numpy().tobytes() for name in b.tensors)
        for a, b in zip(one.records, other.records, strict=True)
    )


def flip_one_bit(chance: random.Random, root: Path) -> str:
    """Flips one bit of one of the files; returns where."""
    files = sorted(path for path in root.rglob("*") if path.is_file() and path.stat().st_size)
    weights = [5 if path.name == "checkpoint.safetensors" else 1 for path in files]  # on which all depends
    (path,) = chance.choices(files, weights)
    data = bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)
    return path.name


def judge(root: Path, expected: list[Result]) -> str:
    """What became of the results of a store."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = [obtain(Store(root), run) for run in RUNS]
        except Error:
            return "refused"
    if not all(map(is_same, found, expected)):
        return "silently wrong"
    return "set aside, same result" if caught else "harmless"


@pytest.mark.parametrize("count", [40, pytest.param(500, marks=pytest.mark.slow)])
def test_no_flipped_bit_changes_a_result_silently(finished, unfinished, tmp_path, count):
    chance, seen = random.Random(count), Counter()
    expected = [finished.folder(run).read() for run in RUNS]
    for number in range(count):
        state, template = ("finished", finished) if number % 2 else ("unfinished", unfinished)
        root = shutil.copytree(template.root, tmp_path / "copy")
        file = flip_one_bit(chance, root)
        seen[state, file, judge(root, expected)] += 1
        shutil.rmtree(root)
    print(f"\n| runs | file | tried | {' | '.join(OUTCOMES)} |\n|---|---|---|{'---|' * len(OUTCOMES)}")
    for state, file in sorted({key[:2] for key in seen}):
        numbers = [seen[state, file, outcome] for outcome in OUTCOMES]
        print(f"| {state} | `{file}` | {sum(numbers)} | {' | '.join(map(str, numbers))} |")
    assert sum(seen.values()) == count
    assert not [key for key in seen if key[2] == "silently wrong"]
    assert {key[2] for key in seen} == set(OUTCOMES[:3])  # so the flips do reach what matters
