"""Files that are made to fill the memory, and what prunefield does with each: `python tests/hostile/hostile_files.py`.

Each file goes to the command that reads such files, in a process of its own that is forked after all imports; its peak
memory is `ru_maxrss` of that process less that of one that reads nothing.
"""

import gzip
import io
import json
import os
import pickle
import struct
import sys
import tarfile
import tempfile
import zipfile
import zlib
from pathlib import Path

GIGA = 1 << 30
RANKS = {"npz": "predict", "mask": "measure"}


def zeros(size: int, wbits: int = -15) -> bytes:
    """`size` packed zeros, made from one packed block that is repeated."""
    packer, block = zlib.compressobj(9, zlib.DEFLATED, -15), bytes(1 << 24)
    part = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    return part * (size >> 24) + packer.flush()


def check(size: int) -> int:
    found = 0
    for _ in range(size >> 24):
        found = zlib.crc32(bytes(1 << 24), found)
    return found


def write_zip(path: Path, members: dict[str, tuple[bytes, int, int]]) -> None:
    """A zip of members that are packed already: name to bytes, length and checksum when unpacked."""
    body, contents = b"", b""
    for name, (packed, size, crc) in members.items():
        fixed = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 0, crc, len(packed), size, len(name), 0)
        entry = struct.pack("<IH", 0x02014B50, 20) + fixed + struct.pack("<HHHII", 0, 0, 0, 0, len(body))
        contents += entry + name.encode()
        body += struct.pack("<I", 0x04034B50) + fixed + name.encode() + packed
    count = len(members)
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, count, count, len(contents), len(body), 0)
    path.write_bytes(body + contents + end)


def pack(*parts: bytes) -> tuple[bytes, int, int]:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    whole = b"".join(parts)
    return packer.compress(whole) + packer.flush(), len(whole), zlib.crc32(whole)


def npy(kind: str, shape: tuple[int, ...]) -> bytes:
    head = str({"descr": kind, "fortran_order": False, "shape": shape}).encode()
    head += b" " * (118 - len(head) - 1) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head


def bomb(begin: bytes, size: int) -> tuple[bytes, int, int]:
    """`begin` and then zeros, packed."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    first = packer.compress(begin) + packer.flush(zlib.Z_FULL_FLUSH)
    crc = zlib.crc32(begin)
    for _ in range(size >> 24):
        crc = zlib.crc32(bytes(1 << 24), crc)
    return first + zeros(size), len(begin) + size, crc


def write_mask(path: Path, made: int) -> None:
    import torch
    from safetensors.torch import save_file

    from prunefield import masks
    from prunefield.masks import Mask

    bits, shapes = {"weight": torch.zeros(100, dtype=torch.uint8)}, {"weight": [80_000, 80_000]}
    digest = masks._digest(bits, shapes if made == 2 else None)
    header = {"shapes": shapes, "sha256": digest} | ({"format": 2} if made == 2 else {})
    save_file(bits, path, metadata={"prunefield-mask": json.dumps(header)})
    assert Mask


def write_tar(path: Path, name: str, content: bytes) -> None:
    with tarfile.open(path, "w:gz") as archive:
        member = tarfile.TarInfo(name)
        member.size = len(content)
        archive.addfile(member, io.BytesIO(content))


def write_pt(path: Path, program: bytes, records: dict[str, bytes] | None = None) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {
            "data.pkl": program,
            "version": b"3\n",
            "byteorder": b"little",
            **(records or {}),
        }.items():
            archive.writestr(f"a/{name}", content)


def tensor(numel: int, size: tuple[int, ...], stride: tuple[int, ...]) -> bytes:
    """The pickle of {'w': a tensor}, as torch writes it."""

    def tuple_(numbers: tuple[int, ...]) -> bytes:
        return b"(" + b"".join(b"\x8a\x08" + number.to_bytes(8, "little") for number in numbers) + b"t"

    storage = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu"
    storage += b"\x8a\x08" + numel.to_bytes(8, "little") + b"tQ"
    rebuild = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00" + tuple_(size) + tuple_(stride)
    return b"\x80\x02}X\x01\x00\x00\x00w" + rebuild + b"\x89ccollections\nOrderedDict\n)RtRs."


def write_all(folder: Path) -> dict[str, list[str]]:
    """Writes the files; returns the arguments with which each is read."""
    import numpy as np
    import torch

    os.chdir(folder)
    made: dict[str, list[str]] = {}
    np.save("w.npy", np.ones((4, 12), np.float32))
    for number in (1, 2):
        write_mask(folder / f"claims{number}.mask", number)
        made[f"mask of 1 kB that claims 6.4 GB, format {number}"] = (
            f"measure w.npy --shape 3,2,2 --mask claims{number}.mask".split()
        )
    write_zip(
        folder / "x.npz",
        {"x.npy": bomb(npy("|u1", (1024, 1 << 20)), GIGA), "y.npy": pack(npy("|u1", (1024,)), bytes(1024))},
    )
    made["npz of 1 MB that unpacks to 1 GB, as a task"] = [
        "data",
        "draw",
        "npz,path=x.npz",
        "--train",
        "9",
        "--test",
        "9",
    ]
    made["the same for predict"] = ["predict", "x.npz"]
    head = b"\x93NUMPY\x02\x00" + struct.pack("<I", GIGA)
    write_zip(folder / "header.npz", {"x.npy": bomb(head, GIGA)})
    made["npz whose header has 1 GB"] = ["predict", "header.npz"]
    write_zip(folder / "bytes.npz", {"x.npy": bomb(npy("|u1", (96, 1 << 20)), 96 << 20)})
    made["npz of 96 MB of bytes that would be 770 MB of numbers"] = ["predict", "bytes.npz"]
    (folder / "claims.npy").write_bytes(npy("<f8", (1 << 20, 1 << 20)) + bytes(1000))
    made["npy of 1 kB that claims 8 TB"] = ["measure", "claims.npy"]
    (folder / "holes.npy").write_bytes(npy("<f8", (512, 1 << 20)))
    os.truncate(folder / "holes.npy", 128 + (4 << 30))
    made["npy of 4 GB of holes"] = ["predict", "holes.npy"]
    entry = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0) + b"x"
    for count in (300_000, 900_000):
        size = count * len(entry)
        end = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, size, 0)
        end += struct.pack("<IIQI", 0x07064B50, 0, size, 1)
        end += struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
        (folder / f"many{count}.npz").write_bytes(b"PK" + bytes(0) + (entry * count)[2:] + end)
        made[f"zip with {count:,} names"] = ["predict", f"many{count}.npz"]
    (folder / "fashion").mkdir()
    for name, size in (
        ("train-images-idx3", GIGA),
        ("train-labels-idx1", 0),
        ("t10k-images-idx3", 0),
        ("t10k-labels-idx1", 0),
    ):
        begin = struct.pack(">4B3I", 0, 0, 8, 3, 1 << 20, 32, 32)
        packed, length, crc = bomb(begin, size)
        content = b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + packed + struct.pack("<II", crc, length & 0xFFFFFFFF)
        (folder / "fashion" / f"{name}-ubyte.gz").write_bytes(content)
    made["gz of 1 MB that unpacks to 1 GB"] = ["data", "get", "fashion-mnist", "--from", "fashion"]
    (folder / "idx").mkdir()
    (folder / "idx" / "train-images-idx3-ubyte").write_bytes(
        struct.pack(">4B3I", 0, 0, 8, 3, 1 << 31, 1 << 10, 1 << 10)
    )
    made["IDX file of 16 bytes that claims 2 PB"] = ["data", "get", "fashion-mnist", "--from", "idx"]
    pax = tarfile.TarInfo("PaxHeader")
    pax.type, pax.size = tarfile.XHDTYPE, GIGA
    packed, length, crc = bomb(pax.tobuf(tarfile.USTAR_FORMAT), GIGA)
    (folder / "pax.tar.gz").write_bytes(
        b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + packed + struct.pack("<II", crc, length & 0xFFFFFFFF)
    )
    made["tar.gz whose header has 1 GB"] = ["data", "get", "cifar10", "--from", "pax.tar.gz"]
    with gzip.open("names.tar.gz", "wb", 1) as file:
        block = tarfile.TarInfo("x").tobuf() * 10_000
        for _ in range(100):
            file.write(block)
    made["tar.gz with 1,000,000 files"] = ["data", "get", "cifar10", "--from", "names.tar.gz"]
    label = b"X\x06\x00\x00\x00labels"
    data = pickle.dumps(np.zeros((2, 3072), np.uint8), 2)[2:-1].replace(b"numpy._core", b"numpy.core")
    nested = b"](K\x00K\x00K\x00K\x00K\x00K\x00K\x00K\x00K\x00K\x00e"
    for _ in range(8):
        nested = b"](" + nested + b"q\x01" + b"h\x01" * 9 + b"e"
    tuples = b"K\x00"
    for _ in range(60):
        tuples += b"q\x01h\x01\x86"
    programs = {
        "pickle of 30 bytes that numbers its memory to 2^31": b"\x80\x02}r\xff\xff\xff\x7f" + label + b"]s.",
        "pickle of 1 kB with a list of 10^9 numbers": b"\x80\x02}"
        + label
        + nested
        + b"sX\x04\x00\x00\x00data"
        + data
        + b"s.",
        "pickle with 30 million empty tables": b"\x80\x02](" + b"}" * 30_000_000 + b"e.",
        "pickle with a key that takes forever to hash": b"\x80\x02}" + tuples + b"K\x00s.",
        "pickle that claims 2 GB of bytes": b"\x80\x03B" + struct.pack("<I", 2**31 - 1) + b"x.",
    }
    for number, (name, program) in enumerate(programs.items()):
        write_tar(folder / f"p{number}.tar.gz", "data_batch_1", program)
        made[name] = ["data", "get", "cifar10", "--from", f"p{number}.tar.gz"]
    write_zip(
        folder / "packed.pt",
        {
            "a/data.pkl": pack(tensor(GIGA >> 2, (1 << 14, 1 << 14), (1 << 14, 1))),
            "a/version": pack(b"3\n"),
            "a/byteorder": pack(b"little"),
            "a/data/0": bomb(b"", GIGA),
        },
    )
    write_pt(folder / "wide.pt", tensor(1, (1 << 20, 1 << 10), (0, 0)), {"data/0": bytes(4)})
    write_pt(folder / "short.pt", tensor(1 << 20, (1 << 10, 1 << 10), (1 << 10, 1)), {"data/0": bytes(4)})
    write_pt(
        folder / "call.pt", b"\x80\x02}X\x01\x00\x00\x00wcbuiltins\nbytearray\n\x8a\x05\x00\xf2\x05\x2a\x01\x85Rs."
    )
    torch.save({"w": torch.ones(2, 12)}, "old.pt", _use_new_zipfile_serialization=False)
    old = (folder / "old.pt").read_bytes().replace(b"K\x18N", b"\x8a\x05\x00\x00\x00\x40\x00N")
    (folder / "old.pt").write_bytes(old)
    for name, file in {
        "deflated .pt of 1 MB that unpacks to 1 GB": "packed.pt",
        ".pt with one number stretched to 4 GB": "wide.pt",
        ".pt with 4 bytes for a million numbers": "short.pt",
        ".pt that asks for 5 GB in one call": "call.pt",
        "old .pt that claims 4 GB": "old.pt",
    }.items():
        made[name] = ["measure", file, "--shape", "3,2,2"]
    (folder / "long.safetensors").write_bytes(struct.pack("<Q", 1 << 40) + b"{}")
    made["safetensors whose header claims 1 TB"] = ["measure", "long.safetensors"]
    header = json.dumps(
        {f"{n:x}": {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]} for n in range(250_000)}
    ).encode()
    (folder / "names.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    made["safetensors with 250,000 names"] = ["measure", "names.safetensors"]
    (folder / "holes.safetensors").write_bytes(b"")
    header = json.dumps({"w": {"dtype": "F32", "shape": [1 << 20, 1 << 10], "data_offsets": [0, 4 << 30]}}).encode()
    (folder / "holes.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    os.truncate(folder / "holes.safetensors", 8 + len(header) + (4 << 30))
    made["safetensors of 4 GB of holes"] = ["measure", "holes.safetensors", "--shape", "1024"]
    for kind in "ab":
        (folder / "pictures" / kind).mkdir(parents=True)
        rows = zlib.compressobj(9)
        row = b"\0" + bytes(3 * 13_000)
        body = b"".join(rows.compress(row) for _ in range(13_000)) + rows.flush() if kind == "a" else b""
        parts = (b"IHDR", struct.pack(">IIBBBBB", 13_000, 13_000, 8, 2, 0, 0, 0)), (b"IDAT", body), (b"IEND", b"")
        chunks = (
            struct.pack(">I", len(part)) + name + part + struct.pack(">I", zlib.crc32(name + part))
            for name, part in parts
        )
        (folder / "pictures" / kind / "0.png").write_bytes(b"\x89PNG\r\n\x1a\n" + b"".join(chunks))
    made["png of 0.5 MB with 169 million pixels"] = [
        "data",
        "draw",
        "folder,path=pictures",
        "--train",
        "9",
        "--test",
        "9",
    ]
    (folder / "deep.toml").write_text("kind = 'neuron'\nx = " + "[" * 400 + "]" * 400)
    made["study nested 400 deep"] = ["run", "deep.toml"]
    made["/dev/zero as a study"] = ["run", "/dev/zero"]
    made["/dev/zero as weights"] = ["measure", "/dev/zero"]
    grid = "\n".join(f'"k{n}" = [{", ".join(["0"] * 20)}]' for n in range(30_000))
    (folder / "wide.toml").write_text(f"kind = 'neuron'\n[sweep]\n{grid}\n")
    made["sweep of 20^30,000 runs"] = ["sweep", "wide.toml"]
    return made


def read(arguments: list[str]) -> tuple[int, str, int]:
    """Exit status, what was said on stderr and peak memory in bytes, of a command in a forked process."""
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if not child:
            os.dup2(said.fileno(), 2)
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            from prunefield.cli import main

            status = 3
            try:
                status = main(arguments) if arguments else 0
            finally:
                sys.stderr.flush()
                os._exit(status)
        _, status, usage = os.wait4(child, 0)
        said.seek(0)
        text = said.read().decode()
    return os.waitstatus_to_exitcode(status), text, usage.ru_maxrss * 1024


def measure(folder: Path) -> list[dict]:
    import matplotlib.figure  # noqa: F401
    import PIL.Image  # noqa: F401
    import torch

    import prunefield.measure.portrait
    import prunefield.measure.prediction
    import prunefield.screen
    import prunefield.study
    import prunefield.tasks.npz  # noqa: F401

    torch.set_num_threads(1)
    os.environ["PRUNEFIELD_DATA"] = str(folder)
    rows, files = [], write_all(folder)
    for name, arguments in files.items():
        _, _, usual = read([])
        status, said, peak = read(arguments)
        rows.append({"file": name, "status": status, "said": said, "peak": peak - usual})
    return rows


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        found = measure(Path(name).resolve())
        os.chdir("/")
    if "--json" in sys.argv:
        print(json.dumps(found))
    else:
        print("| input | status | said | peak memory |\n|---|---|---|---|")
        for row in found:
            said = row["said"].strip().removeprefix("prunefield: ").replace(f"{name}/", "").replace("|", "\\|")
            print(f"| {row['file']} | {row['status']} | {said[:150]} | {row['peak'] / 1e6:.0f} MB |")
