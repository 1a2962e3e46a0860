"""Fetching and reading other people's files: broken downloads, hostile pickles and archives, changed files."""

import hashlib
import http.server
import io
import json
import pickle
import tarfile
import threading
import zipfile

import numpy as np
import pytest

import official_files
from prunefield.cli import main
from prunefield.core.errors import RunError, UsageError
from prunefield.data.bundles import Bundle
from prunefield.data.download import download_file
from prunefield.data.pickles import read_pickle

CONTENT = bytes(range(256)) * 20_000
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Server(http.server.BaseHTTPRequestHandler):
    """Closes the connection after 2 MB; supports ranges unless the path says otherwise."""

    asked: list[str | None] = []  # noqa: RUF012

    def do_GET(self):
        begin = 0
        self.asked.append(self.headers.get("Range"))
        if self.path == "/missing":
            self.send_error(404)
            return
        if self.headers.get("Range") and self.path != "/no-ranges":
            begin = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
        self.send_response(206 if begin else 200)
        self.send_header("Content-Length", str(len(CONTENT) - begin))
        self.end_headers()
        content = CONTENT[begin:] if self.path != "/tampered" else bytes(len(CONTENT) - begin)
        self.wfile.write(content if self.path == "/no-ranges" else content[: 2 << 20])

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def fetch(address, path, seen=None):
    tell = (lambda have, size: None) if seen is None else (lambda have, size: seen.append(have))
    return download_file(address, path, sha256=SHA256, size=len(CONTENT), tell=tell)


def test_a_broken_download_resumes(address, tmp_path):
    Server.asked.clear()
    seen = []
    assert fetch(f"{address}/file", tmp_path / "file", seen).read_bytes() == CONTENT
    assert Server.asked == [None, f"bytes={2 << 20}-", f"bytes={4 << 20}-"]
    assert seen == sorted(seen)
    fetch(f"{address}/file", tmp_path / "file")
    assert len(Server.asked) == 3  # nothing more was asked for


def test_a_partial_download_of_an_earlier_command_is_used(address, tmp_path):
    Server.asked.clear()
    (tmp_path / "file.part").write_bytes(CONTENT[:5_000_000])
    assert fetch(f"{address}/file", tmp_path / "file").read_bytes() == CONTENT
    assert Server.asked == ["bytes=5000000-"]


def test_a_server_without_ranges_starts_again(address, tmp_path):
    (tmp_path / "file.part").write_bytes(b"old")
    assert fetch(f"{address}/no-ranges", tmp_path / "file").read_bytes() == CONTENT


@pytest.mark.parametrize(("path", "message"), [("tampered", "SHA-256 .* it was deleted"), ("missing", "404")])
def test_a_wrong_answer_leaves_nothing_behind(address, tmp_path, path, message):
    with pytest.raises(RunError, match=message):
        fetch(f"{address}/{path}", tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


def test_an_unreachable_server_is_reported_in_one_line(tmp_path):
    with pytest.raises(RunError, match=r"cannot fetch .*refused") as caught:
        fetch("http://127.0.0.1:9/file", tmp_path / "file")
    assert "\n" not in str(caught.value)


class Attack:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_a_pickle_cannot_run_code(tmp_path):
    mark = tmp_path / "mark"
    with pytest.raises(UsageError, match=r"asks for io\.open|asks for _io\.open; it could run code"):
        read_pickle(io.BytesIO(pickle.dumps({"data": Attack(mark)})), "batch")
    assert not mark.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (pickle.dumps({"a": 1})[:-3], "damaged or truncated"),
        (b"not a pickle", "damaged or truncated"),
        (pickle.dumps([1]), "contains a list"),
        (pickle.dumps({"a": np.array([{}], dtype=object)}, 2), "not a plain block of numbers"),
        (b"\x80\x02c_codecs\nencode\n(X\x01\x00\x00\x00aX\x05\x00\x00\x00rot13tR.", "the codec 'rot13'"),
    ],
)
def test_bad_pickles_are_reported_in_one_line(content, message):
    with pytest.raises(UsageError, match=message) as caught:
        read_pickle(io.BytesIO(content), "batch")
    assert "\n" not in str(caught.value)


def test_a_pickle_of_python_2_is_read():
    """Like the official files: byte strings, and arrays by numpy.core.multiarray._reconstruct."""
    content = (
        b"\x80\x02}q\x01(U\x06labelsq\x02]q\x03(K\x06K\x09eU\x04dataq\x04cnumpy.core.multiarray\n_reconstruct\nq\x05"
        b"cnumpy\nndarray\nq\x06K\x00\x85U\x01b\x87Rq\x07(K\x01K\x02K\x03\x86cnumpy\ndtype\nq\x08U\x02u1K\x00K\x01\x87R"
        b"q\x09(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89U\x06abcdeftbu."
    )
    found = read_pickle(io.BytesIO(content), "batch")
    assert found["labels"] == [6, 9]
    assert found["data"].tolist() == [[97, 98, 99], [100, 101, 102]]


@pytest.mark.parametrize("dtype", ["u1", "<f8", ">i4", "?"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_come_back_as_numpy_wrote_them(dtype, order):
    array = np.asarray(np.arange(12).reshape(3, 4).astype(dtype), order=order)
    found = read_pickle(io.BytesIO(official_files.pickle_batch({"mean": array})), "batch")["mean"]
    assert np.array_equal(found, array)
    assert found.dtype == array.dtype


def add_link(path):
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo("data_batch_1")
        member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(member)


def climb(path):
    official_files.tar(path, {"../evil": b"x"})


def climb_zip(path):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a/../../evil", "x")


def swell(path):
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo("bomb")
        member.size = 9 << 30
        archive.fileobj.write(member.tobuf())


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (add_link, "is a link"),
        (climb, "'../evil', which points outside the archive"),
        (climb_zip, "which points outside the archive"),
        (swell, "would unpack to 9 GB|complete tar or zip"),
        (lambda path: path.write_bytes(b"no archive"), "neither a folder nor a complete tar or zip archive"),
        (lambda path: None, "no such file"),
    ],
)
def test_bad_archives_are_reported_in_one_line(write, message, tmp_path):
    write(tmp_path / "archive")
    with pytest.raises(UsageError, match=message) as caught:
        Bundle(tmp_path / "archive")
    assert "\n" not in str(caught.value)
    assert not (tmp_path.parent / "evil").exists()


@pytest.fixture
def cifar10(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PRUNEFIELD_DATA", str(tmp_path / "data"))
    assert main(["data", "get", "cifar10", "--from", str(official_files.cifar10(tmp_path)), "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["data"]
    assert row["folder"] == str(tmp_path / "data" / "cifar10")
    return tmp_path / "data" / "cifar10"


def test_verify_finds_a_changed_byte(cifar10, capsys):
    assert main(["data", "verify"]) == 0
    assert "cifar10: whole" in capsys.readouterr().out
    content = bytearray((cifar10 / "train.npy").read_bytes())
    content[-1] ^= 1
    (cifar10 / "train.npy").write_bytes(content)
    assert main(["data", "verify", "cifar10", "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["data"][0]["problems"] == ["train.npy has been changed"]


@pytest.mark.parametrize("name", ["train.npy", "test-labels.npy", "moments.npy", "about.json"])
@pytest.mark.parametrize("change", ["cut", "removed"])
def test_damaged_files_are_refused_when_opened(cifar10, name, change):
    import torch

    from prunefield.tasks import Task

    path = cifar10 / name
    path.write_bytes(path.read_bytes()[:-20])
    if change == "removed":
        path.unlink()
    with pytest.raises(UsageError, match=r"get it again|fetch it") as caught:
        Task.parse("cifar10").sample(1, generator=torch.Generator())
    assert "\n" not in str(caught.value)


def test_the_list_shows_which_data_are_present(cifar10, capsys):
    assert main(["data", "list", "--json"]) == 0
    rows = {row["data"]: row for row in json.loads(capsys.readouterr().out)["data"]}
    assert rows["cifar10"]["state"] == "here"
    assert rows["cifar100"]["state"] == "data get cifar100 (169 MB)"
    assert rows["folder"]["shape"] == []
    assert rows["leaves"]["state"] == "made here"
    assert main(["data", "list"]) == 0
    assert "non-commercial" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["get"], "needs the name of a data set"),
        (["get", "cifar"], "did you mean 'cifar10' or 'cifar100'?"),
        (["get", "leaves"], "unknown data set that can be fetched 'leaves'"),
        (["get", "cifar10", "cifar100", "--from", "x"], "is for one data set"),
        (["get", "cifar10", "--from", "/nowhere"], "no such file"),
        (["verify", "cifar100"], "about.json cannot be read"),
        (["list", "leafs"], "did you mean 'leaves'?"),
    ],
)
def test_bad_commands_are_reported_in_one_line(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PRUNEFIELD_DATA", str(tmp_path))
    assert main(["data", *arguments]) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert message in error
