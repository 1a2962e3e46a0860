"""Inputs that nobody would write by hand: whatever comes, the answer is a result or one line.

`make fuzz` takes 10,000 of them, the ordinary tests a few hundred of the same; the seeds are fixed.
"""

import io
import json
import shutil
import struct
import warnings
from contextlib import redirect_stderr, redirect_stdout

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from safetensors.torch import save

from prunefield.cli import main
from prunefield.core.names import modules
from prunefield.masks.bits import digest_bits
from prunefield.tasks import _own
from prunefield.tasks._images import open_shelf

FEW, MANY = 50, 2000


def answer(arguments: list[str]) -> str:
    """What a command says on stderr, which is nothing or one line; its status is 0, 1 or 2."""
    out, err = io.StringIO(), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            status = main(arguments)
        except SystemExit as leave:  # of --help
            status = leave.code
    said = err.getvalue()
    assert status in (0, 1, 2), arguments
    assert "Traceback" not in said
    if status:
        assert said.startswith("prunefield: "), arguments
        assert said.count("\n") == 1, said
    elif "--json" in arguments and not {"--", "-V"} & set(arguments):
        json.loads(out.getvalue())
    return said


odd_text = st.text(st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]), max_size=12)
numbers = st.one_of(
    st.integers(-3, 5).map(str),
    st.integers().map(str),
    st.floats(allow_nan=True).map(str),
    st.sampled_from(
        ["1" * 5000, "1" + "0" * 400, "-9223372036854775809", "1e400", "1e-400", "nan", "-inf", "0x7f", "²"]
    ),
)
nested = st.one_of(
    st.integers(0, 600).map(lambda n: "[" * n + "]" * n), st.integers(0, 500).map(lambda n: "{a=" * n + "1" + "}" * n)
)
tables = st.builds(
    lambda kind, value: f"{{kind = '{kind}', g = {value}}}", st.sampled_from([*modules("tasks"), "x"]), numbers
)
ODD = ["2020-01-01", "true", "'a'", "[]", "{}", "1\nseed = 2", "'it''s", '"""', "", "[1, 'a', [2]]", "[64, 64]"]
lists = st.lists(numbers, max_size=3).map(lambda items: f"[{', '.join(items)}]")
values = st.one_of(numbers, nested, tables, lists, odd_text, st.sampled_from(ODD))
FIELDS = "seed steps task task.g task.side task.of task.of.of hidden rounds batch density score score.mode of of.seed"
FIELDS = [*FIELDS.split(), *["steps.x", "inits", "kind", "sweep", "a..b", ".", "lr", "time", "net", "net.width"]]
keys = st.one_of(st.sampled_from(FIELDS), st.integers(30, 50).map(lambda n: ".".join("a" * n)))
changes = st.lists(st.one_of(st.builds("{}={}".format, keys, values), odd_text), max_size=3)
kinds = st.sampled_from([*modules("runs"), "toy", "x", ""])


@st.composite
def studies(draw) -> str:
    lines = [f'kind = "{draw(kinds)}"'] * draw(st.sampled_from([1, 1, 1, 0, 2]))
    lines += [
        f'"{key}" = {value}' if "." in key else f"{key} = {value}"
        for key, value in draw(st.lists(st.tuples(keys, values), max_size=3))
    ]
    if draw(st.booleans()):
        lists = draw(st.lists(st.tuples(keys, st.lists(values, max_size=4)), max_size=3))
        lines += ["[sweep]", *(f'"{key}" = [{", ".join(items)}]' for key, items in lists)]
    return "\n".join(lines)


def check_study(folder, case):
    verb, text, settings_, engine, as_json = case
    (folder / "study.toml").write_text(text, encoding="utf-8", newline="")
    options = [part for change in settings_ for part in ("--set", change)]
    answer(
        [
            verb,
            "study.toml",
            *(f"--set={part}" for part in options[1::2]),
            "--dry-run",
            f"--engine={engine}",
            *(["--json"] * as_json),
        ]
    )


engines = st.one_of(
    st.just("local"),
    st.builds(
        "{},{}={}".format, st.sampled_from(["local", "ray", "x"]), st.sampled_from(["jobs", "address", ""]), values
    ),
)
STUDIES = st.tuples(st.sampled_from(["run", "sweep"]), studies(), changes, engines, st.booleans())

TOKENS = [
    *(
        "--out",
        "--store",
        "",
        ".",
        "..",
        "/",
        "--json",
        "--scale",
        "smoke",
        "x",
        "--set",
        "steps.x=1",
        "--jobs",
        "1e9",
        "-1",
        "--",
    ),
    *("-", "--seed", "9" * 5000, "show", "list", "verify", "--data", "nlgp,lengthscales=[1.0,3.0]", "--shape", "3,²,1"),
    *("3,2,2", "w.npy", "--layer", "--mask", "--device", "meta", "cuda:99999999999", "--strict", "--yes", "tasks"),
    *("redman2025", "--per-class", "10", "99999999999999", "a=b,c=[", "\\", "%s", "{}"),
]
VERBS = ["list", "cite", "runs", "claims", "report", "run", "sweep", "measure", "", "-V", "x", "data", "reproduce"]


def check_arguments(folder, case):
    verb, arguments = case
    if verb == "reproduce":
        arguments = ["lufkin2024/fig1", "--dry-run", *arguments]
    if verb == "data":
        arguments = ["draw", "ising", "--train", "9", "--test", "9", "--out", "drawn.npz", *arguments]
    if "--help" not in arguments and "-h" not in arguments:
        answer([verb, *arguments])


ARGUMENTS = st.tuples(
    st.sampled_from(VERBS), st.lists(st.one_of(st.sampled_from(TOKENS), odd_text, numbers), max_size=5)
)

sides = st.one_of(st.integers(-1, 100), st.sampled_from([10**6, 2**62, 2**63, 10**400, True, 1.0, "a", None]))
shapes = st.one_of(st.just([4, 12]), st.lists(sides, max_size=4), sides, st.dictionaries(odd_text, sides, max_size=1))
byte = torch.uint8
bits = st.sampled_from(
    [torch.zeros(6, dtype=byte), torch.zeros(0, dtype=byte), torch.zeros(6), torch.ones((), dtype=byte)]
)
bits |= st.sampled_from([torch.zeros(2, 3, dtype=byte), torch.ones(1000, dtype=byte)])
MASKS = st.tuples(shapes, bits, st.sampled_from([1, 2, 3, None, "2", [], {}]), st.booleans(), st.integers(-1, 400))


def check_mask(folder, case):
    shape, part, made, is_right, cut = case
    try:
        digest = digest_bits({"weight": part}, {"weight": shape} if made == 2 else None)
    except ValueError:  # a number too long for JSON
        digest = ""
    header = {"shapes": {"weight": shape}, "sha256": digest if is_right else "0"} | (
        {} if made == 1 else {"format": made}
    )
    try:
        text = json.dumps(header)
    except ValueError:
        text = "[" * 5000
    content = save({"weight": part}, metadata={"prunefield-mask": text})
    (folder / "mask.safetensors").write_bytes(content[:cut] if 0 <= cut < len(content) and not is_right else content)
    answer(["measure", "w.npy", "--shape", "3,2,2", "--mask", "mask.safetensors", "--json"])


plain = st.sampled_from(["u1", "i8", "f2", "f4", "f8", "?", "u8", ">f4"]).map(np.dtype)
strange = st.one_of(hnp.scalar_dtypes(), hnp.unicode_string_dtypes(), hnp.array_dtypes())
inputs = st.one_of(
    st.tuples(st.just("right"), plain, st.lists(st.integers(1, 4), min_size=1, max_size=3)),
    st.tuples(st.just("strange"), strange, st.lists(st.integers(0, 4), max_size=4)),
)
labels = st.one_of(
    st.integers(1, 5),
    hnp.arrays(strange, st.integers(0, 12)),
    hnp.arrays(st.sampled_from(["f8", "i2", "U3", "S2", "?"]), 12),
)
NPZ = st.tuples(
    inputs,
    labels,
    st.integers(0, 2**32),
    st.sampled_from(["x.npz", "x.npy"]),
    st.booleans(),
    st.sampled_from(["draw", "measure"]),
)


def check_npz(folder, case):
    (sort, dtype, shape), y, seed, name, as_npz, use = case
    shape = (12, *shape) if sort == "right" else tuple(shape)
    count = int(np.prod(shape)) * dtype.itemsize
    x = (
        np.frombuffer(np.random.default_rng(seed).bytes(count), dtype).reshape(shape)
        if sort == "strange" and count
        else np.ones(shape, dtype)
    )
    if sort == "right":
        with np.errstate(all="ignore"):
            x = np.random.default_rng(seed).normal(0, 10.0 ** (seed % 45), shape).astype(dtype)
    y = np.arange(12) % y if isinstance(y, int) else y
    shutil.rmtree(folder / "own", ignore_errors=True)  # every case is a file that was never seen before
    _own._seen.clear()
    open_shelf.cache_clear()
    with (folder / name).open("wb") as file, warnings.catch_warnings(action="ignore"):
        np.savez(file, x=x, y=y) if as_npz else np.save(file, x)
    if use == "draw":
        answer(["data", "draw", f"npz,path={name}", "--train", "3", "--test", "1", "--out", "drawn.npz", "--json"])
    else:
        answer(["measure", "w.npy", "--shape", "3,2,2", "--data", name, "--json"])


PLAIN = torch.ones(4, 12)
TENSORS = {
    "plain": PLAIN,
    "sparse": PLAIN.to_sparse(),
    "meta": PLAIN.to("meta"),
    "empty": torch.ones(0, 12),
    "wide": torch.ones(1, 1).expand(4, 12),
    "complex": PLAIN.to(torch.complex64),
    "half": PLAIN.half(),
    "whole": PLAIN.long(),
    "bool": PLAIN > 0,
    "nan": torch.full((4, 12), torch.nan),
    "cube": torch.ones(2, 3, 4),
    "number": torch.tensor(1.0),
    "small": torch.ones(2, 2),
}
names = st.one_of(
    st.sampled_from(
        ["w", "w_mask", "w_orig", r"$\frac{", "a.weight", "a.weight_mask", "module.w", 0, 1, None, ("a", "b")]
    ),
    odd_text,
)
states = st.dictionaries(names, st.sampled_from(sorted(TENSORS)), max_size=4)
STATES = st.tuples(
    states,
    st.sampled_from(["new", "old", "safetensors", "wrapped"]),
    st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), max_size=3),
    st.sampled_from(["measure", "prune"]),
)


def check_state(folder, case):
    state, form, flips, verb = case
    tensors = {name: TENSORS[kind] for name, kind in state.items()}
    path = folder / ("net.safetensors" if form == "safetensors" else "net.pt")
    if form == "safetensors":
        kept = {
            str(name): item.contiguous()
            for name, item in tensors.items()
            if item.layout == torch.strided and not item.is_meta
        }
        content = save({name: item.clone() for name, item in kept.items()})
    else:
        buffer = io.BytesIO()
        torch.save(
            {"state_dict": tensors, 3: [1]} if form == "wrapped" else tensors,
            buffer,
            _use_new_zipfile_serialization=form != "old",
        )
        content = buffer.getvalue()
    changed = bytearray(content)
    for place, value in flips:
        changed[place % len(changed)] = value
    path.write_bytes(changed)
    if verb == "measure":
        answer(["measure", path.name, "--shape", "3,2,2", "--json"])
    else:
        answer(
            ["prune", path.name, "--density", "0.5", "--score", "magnitude", "--out", "pruned.safetensors", "--json"]
        )


PROPERTIES = {
    "studies": (STUDIES, check_study),
    "arguments": (ARGUMENTS, check_arguments),
    "masks": (MASKS, check_mask),
    "arrays": (NPZ, check_npz),
    "states": (STATES, check_state),
}


def check_cases(name, cases, folder, monkeypatch):
    """Tries a number of cases of a property, always the same ones."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PRUNEFIELD_DATA", str(folder))
    np.save("w.npy", np.arange(48, dtype=np.float32).reshape(4, 12) % 5)
    strategy, check = PROPERTIES[name]
    tried = []

    @settings(
        max_examples=cases, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck)
    )
    @given(strategy)
    def try_case(case):
        tried.append(1)
        check(folder, case)

    try_case()
    assert len(tried) >= cases


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_few_odd_inputs(name, tmp_path, monkeypatch):
    check_cases(name, FEW, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROPERTIES)
def test_ten_thousand_odd_inputs(name, tmp_path, monkeypatch):
    check_cases(name, MANY, tmp_path, monkeypatch)


def test_an_unusual_file_of_bytes_is_no_array(tmp_path, monkeypatch):
    """The header of an array may claim any length of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.npy").write_bytes(b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**31) + b"{}")
    assert "the header has 2147483648 bytes" in answer(["predict", "x.npy"])
