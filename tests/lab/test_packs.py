"""A pack hands finished runs on: the same bytes from the same runs, and nothing is taken that is not what it says."""

import hashlib
import io
import json
import os
import random
import re
import shutil
import stat
import zipfile

import pytest
from toy import Toy

from prunefield.cli import main
from prunefield.core.errors import StoreError, UsageError
from prunefield.lab.execution import obtain
from prunefield.lab.joining import unpack_runs
from prunefield.lab.packs import open_pack, write_pack
from prunefield.lab.store import Store

pytestmark = pytest.mark.usefixtures("workers")

RUNS = (Toy(seed=0), Toy(seed=1, of=Toy(seed=2, steps=20)))


@pytest.fixture(scope="module")
def origin(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("origin"))
    for run in RUNS:
        obtain(store, run)
    return store


@pytest.fixture
def pack(origin, tmp_path):
    write_pack(origin, tmp_path / "runs.zip")
    return tmp_path / "runs.zip"


def seal(path, content):
    """A file with the right checksum at its end."""
    content = content[:-64]
    path.write_bytes(content + hashlib.sha256(content).hexdigest().encode())
    return path


def rewrite(pack, change, **how):
    """The pack after `change` of its files by name, with the right checksum: what a hostile sender could send."""
    with zipfile.ZipFile(pack) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", **how) as archive:
        archive.comment = b"0" * 64
        for name, data in files.items():
            archive.writestr(name, data)
    return seal(pack, buffer.getvalue())


def refuse(pack, tmp_path, capsys):
    """The line with which the command refuses the pack; nothing may be written."""
    assert main(["runs", "unpack", str(pack), "--store", str(tmp_path / "new")]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert not (tmp_path / "new" / "runs").exists()
    return shown.err


def test_what_is_packed_comes_out_with_the_same_digests(origin, pack, tmp_path):
    new = Store(tmp_path / "new")
    joined = unpack_runs(new, pack)
    assert sorted(joined.added) == origin.names() == new.names()
    for folder in origin:
        assert new[folder.name].read().digest == folder.read().digest
        assert {path.name: path.read_bytes() for path in folder.path.iterdir()} == {
            path.name: path.read_bytes() for path in new[folder.name].path.iterdir()
        }
    assert sorted(unpack_runs(new, pack).same) == origin.names()


def test_equal_runs_give_equal_bytes(origin, pack, tmp_path):
    shutil.copytree(origin.root, tmp_path / "copy")
    for path in sorted((tmp_path / "copy").rglob("*")):
        os.utime(path, (10**9, 10**9))
    write_pack(reversed(list(Store(tmp_path / "copy"))), tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == pack.read_bytes()


def test_any_zip_program_can_read_it(origin, pack):
    with zipfile.ZipFile(pack) as archive:
        assert archive.testzip() is None
        assert json.loads(archive.read("pack.json"))["runs"].keys() == set(origin.names())


def test_runs_that_others_need_are_packed_with_them(origin, tmp_path):
    path, name = tmp_path / "one.zip", RUNS[1].folder
    assert main(["runs", "pack", name, "--out", str(path), "--store", str(origin.root), "--json"]) == 0
    with open_pack(path) as found:
        assert found.digests.keys() == {name, RUNS[1].of.folder}


def test_flipped_bits_and_lost_ends_are_refused(pack, tmp_path, capsys):
    """Any bit: half of the places at random, half of them where the structure is."""
    content, draw = pack.read_bytes(), random.Random(0)
    places = [draw.randrange(len(content)) for _ in range(40)] + [0, 3, 30, len(content) - 1, len(content) - 64]
    for place in places:
        damaged = bytearray(content)
        damaged[place] ^= 1 << draw.randrange(8)
        pack.write_bytes(damaged)
        assert "refused" in (line := refuse(pack, tmp_path, capsys)) or "not a pack" in line
    for size in (0, 1, 63, 64, 100, len(content) // 2, len(content) - 1):
        pack.write_bytes(content[:size])
        refuse(pack, tmp_path, capsys)
    pack.write_bytes(content + b"x")
    refuse(pack, tmp_path, capsys)


def put(name, data=b"x"):
    return lambda files: files.update({name: data})


def edit_content(**change):
    def edit(files):
        files["pack.json"] = json.dumps(json.loads(files["pack.json"]) | change).encode()

    return edit


def edit_records(files):
    """Another number in the records of a run, with the checksums of its mark as before."""
    name = next(name for name in files if name.endswith("records.json"))
    files[name] = files[name].replace(b"mean", b"Mean")


def forge(data, digest=True, name="records.json"):
    """A file that was replaced, with every checksum and digest right."""

    def forge_file(files):
        run = RUNS[0].folder
        files[f"runs/{run}/{name}"] = data
        done = json.loads(files[f"runs/{run}/done.json"])
        done["files"][name] = hashlib.sha256(data).hexdigest()
        names = ("settings.json", "records.json", "tensors.safetensors", "state.safetensors")
        done["digest"] = hashlib.sha256("".join(done["files"][name] for name in names).encode()).hexdigest()
        files[f"runs/{run}/done.json"] = json.dumps(done).encode()
        if digest:
            content = json.loads(files["pack.json"])
            content["runs"][run] = done["digest"]
            files["pack.json"] = json.dumps(content).encode()

    return forge_file


def rename_run(files):
    """A run under the name of another one, with its checksums right."""
    old, new = RUNS[0].folder, f"toy-{'0' * 16}"
    for name in [name for name in files if old in name]:
        files[name.replace(old, new)] = files.pop(name)
    files["pack.json"] = files["pack.json"].replace(old.encode(), new.encode())


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (put("../../escaped"), "its files are not those"),
        (put("/etc/escaped"), "its files are not those"),
        (put("runs/x/../../../escaped"), "its files are not those"),
        (put("runs/toy-0000000000000000/done.json"), "its files are not those"),
        (lambda files: files.pop(next(name for name in files if name.endswith("made.json"))), "its files are not"),
        (lambda files: files.pop("pack.json"), r"has no pack\.json"),
        (put("pack.json", b"[" * 9000), "unreadable"),
        (put("pack.json", b"\xff"), "unreadable"),
        (put("pack.json", b"[]"), "unreadable"),
        (edit_content(format=2), "format 2"),
        (edit_content(format=True), "format True"),
        (edit_content(runs=[]), "does not list"),
        (edit_content(runs={"../escaped-0123456789abcdef": "0" * 64}), "does not list"),
        (edit_content(runs={"toy-0123456789abcdef": 3}), "does not list"),
        (edit_content(runs={}), "its files are not"),
        (edit_records, "was truncated or edited"),
        (forge(b"[]", digest=False), "its digest is not the one"),
        (forge(b"[]"), "hold no records"),
        (forge(b"3"), "hold no records"),
        (forge(b"[" * 9000), "hold no records"),
        (forge(b'{"0": {}, "1": {}}'), "hold no records"),
        (forge(b'["0", 1]'), "hold no records"),
        (forge(b'[{"mean": NaN}]'), "NaN is not a number"),
        (forge(b"\xff" * 50, name="tensors.safetensors"), "not a safetensors file"),
        (forge(b"\xff" * 50, name="state.safetensors"), "not a safetensors file"),
        (forge(b"[]", name="made.json"), r"made\.json is unreadable"),
        (rename_run, "its settings are those of"),
    ],
)
def test_what_a_hostile_sender_writes_is_refused(pack, tmp_path, capsys, change, why):
    rewrite(pack, change)
    line = refuse(pack, tmp_path, capsys)
    assert re.search(why, line), line
    assert not list(tmp_path.rglob("escaped*"))


def test_what_is_compressed_is_refused_before_it_is_unpacked(pack, tmp_path, capsys):
    rewrite(pack, put("pack.json", b" " * 50_000_000), compression=zipfile.ZIP_DEFLATED)
    assert pack.stat().st_size < 10**6
    assert "'pack.json' compressed, which" in refuse(pack, tmp_path, capsys)


def test_a_file_twice_a_link_and_a_wrong_size_are_refused(pack, tmp_path, capsys):
    content = pack.read_bytes()
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(pack, "a") as archive:
        archive.writestr("pack.json", "{}")
    assert "'pack.json' twice, which" in refuse(seal(pack, pack.read_bytes()), tmp_path, capsys)
    pack.write_bytes(content)
    with zipfile.ZipFile(pack, "a") as archive:
        link = zipfile.ZipInfo("link")
        link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    assert "'link' as a link" in refuse(seal(pack, pack.read_bytes()), tmp_path, capsys)
    claim = content.rindex(b"PK\1\2") + 20  # the sizes in the last entry of the table of contents
    pack.write_bytes(content[:claim] + b"\xf0\xff\xff\x0f" * 2 + content[claim + 8 :])
    assert "claim more bytes than it has" in refuse(seal(pack, pack.read_bytes()), tmp_path, capsys)


def test_a_zip_that_was_damaged_with_care_is_refused_in_one_line(pack, tmp_path, capsys):
    """Bits flipped where the archive's own structure is, with the right checksum at the end."""
    content, draw, taken = pack.read_bytes(), random.Random(1), 0
    begin = content.index(b"PK\1\2")
    for _ in range(150):
        damaged = bytearray(content)
        damaged[draw.randrange(begin, len(content) - 64)] ^= 1 << draw.randrange(8)
        status = main(["runs", "unpack", str(seal(pack, bytes(damaged))), "--store", str(tmp_path / "new")])
        shown = capsys.readouterr()
        assert status in (0, 2), shown.err
        assert shown.err.count("\n") <= 1
        taken += status == 0  # dates and the like, which mean nothing
        if status == 0:
            assert not any(folder.problems() for folder in Store(tmp_path / "new"))
            shutil.rmtree(tmp_path / "new")
    assert taken < 100


def test_a_damaged_run_is_not_packed_and_an_old_pack_survives_a_failure(origin, pack, tmp_path, monkeypatch):
    shutil.copytree(origin.root, tmp_path / "copy")
    before, copy = pack.read_bytes(), Store(tmp_path / "copy")
    (copy[RUNS[0].folder].path / "records.json").write_bytes(b"[]")
    with pytest.raises(StoreError, match=r"records\.json was truncated or edited"):
        write_pack(copy, pack)
    monkeypatch.setattr(os, "fsync", lambda number: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(StoreError, match="no space left"):
        write_pack(origin, pack)
    assert pack.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"copy", "runs.zip"}


def test_what_is_not_finished_is_left_out_and_said(store, tmp_path, capsys):
    obtain(store, RUNS[0])
    store.folder(Toy(seed=9)).begin(Toy(seed=9))
    out, path = ["--store", str(store.root)], str(tmp_path / "p.zip")
    assert main(["runs", "pack", "--out", path, *out]) == 0
    assert Toy(seed=9).folder in capsys.readouterr().err
    assert main(["runs", "pack", Toy(seed=9).folder, "--out", path, *out]) == 2
    assert "is not finished" in capsys.readouterr().err
    empty = Store(tmp_path / "empty")
    assert main(["runs", "pack", "--out", path, "--store", str(empty.root)]) == 2
    assert "empty has no runs, so there is nothing to pack" in capsys.readouterr().err


@pytest.mark.parametrize("place", ["missing.zip", ".", "/dev/zero", "text", "pipe"])
def test_no_file_is_one_line(tmp_path, capsys, place, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text").write_text("PK")
    os.mkfifo("pipe")  # nobody writes to it, so whoever opens it would wait forever
    assert refuse(place, tmp_path, capsys).startswith("prunefield: ")


def test_a_study_takes_its_runs_from_a_pack_and_computes_the_rest(origin, pack, store, monkeypatch):
    import prunefield as pf

    study, told = pf.Study({"kind": "toy"}, sweep={"seed": [0, 5]}), []
    results = study.run(store, jobs=1, progress=False, pack=pack, report=told.append)
    assert told == [f"{pack} has 1 of the 2 runs; to be computed: 1"]
    made = {run.seed: store.folder(run).table("made") for run, _ in results}
    assert made[0] == origin[Toy(seed=0).folder].table("made")  # taken, not computed again
    assert results[Toy(seed=0)].digest == origin[Toy(seed=0).folder].read().digest
    assert len(results) == 2
    with pytest.raises(UsageError, match="not a pack"):
        study.run(store, pack=origin.root / "store.json")


def test_a_pack_with_other_runs_is_reported(pack, store):
    """It may be that of another scale, and what was asked for takes weeks."""
    import prunefield as pf

    study, told = pf.Study({"kind": "toy", "steps": 2}, sweep={"seed": [0, 5]}), []
    for _ in range(2):  # the second time nothing is left to be computed
        study.run(store, jobs=1, progress=False, pack=pack, report=told.append)
    assert told == [f"{pack} has none of the 2 runs; to be computed: 2"]


def test_names_in_a_pack_may_be_abbreviated(pack, tmp_path, capsys):
    name, options = RUNS[0].folder, ["--store", str(tmp_path / "new")]
    assert main(["runs", "unpack", str(pack), "toy-ffffffff", *options]) == 2
    assert "unknown run in" in capsys.readouterr().err
    assert main(["runs", "unpack", str(pack), "toy-", *options]) == 2
    assert "is the beginning of 3 run names" in capsys.readouterr().err
    assert main(["runs", "unpack", str(pack), name.removeprefix("toy-")[:10], name, *options]) == 0
    assert Store(tmp_path / "new").names() == [name]


def test_another_result_in_a_pack_is_reported_and_not_taken(origin, store, tmp_path):
    import prunefield as pf

    obtain(store, Toy(seed=0))
    rewrite_digest(store, Toy(seed=0))
    write_pack(store, tmp_path / "other.zip")
    copy = Store(shutil.copytree(origin.root, tmp_path / "copy"))
    told = []
    pf.Study({"kind": "toy"}).run(copy, jobs=1, progress=False, pack=tmp_path / "other.zip", report=told.append)
    assert len(told) == 1
    assert "has another result" in told[0]
    assert copy.folder(Toy(seed=0)).read().digest == origin.folder(Toy(seed=0)).read().digest


def rewrite_digest(store, run):
    """Another result of the same run, sound in itself: as if another machine had rounded differently."""
    folder = store.folder(run)
    found = folder.examine()
    values = json.loads(found.contents["records.json"])
    values[-1]["mean"] += 1e-7
    files = {**found.contents, "records.json": json.dumps(values).encode()}
    sums = {name: hashlib.sha256(files[name]).hexdigest() for name in json.loads(files["done.json"])["files"]}
    names = ("settings.json", "records.json", "tensors.safetensors", "state.safetensors")
    digest = hashlib.sha256("".join(sums[name] for name in names).encode()).hexdigest()
    (folder.path / "records.json").write_bytes(files["records.json"])
    (folder.path / "done.json").write_text(json.dumps({"digest": digest, "files": sums}))
    assert folder.read().digest == digest
