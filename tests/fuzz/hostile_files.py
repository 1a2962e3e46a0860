"""Files that are made to fill the memory, and what prunefield does with each.

`python tests/fuzz/hostile_files.py --all` prints the table of docs/reliability.md. Each file goes to the command that
reads such files, in a process that is forked after all imports; its peak memory is `ru_maxrss` of that process less
that of one that does nothing.
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
import traceback
import zipfile
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib.figure  # noqa: F401, imported here so that it is no part of what is measured
import numpy as np
import PIL.Image  # noqa: F401
import torch
from safetensors.torch import save_file

import prunefield.core.terminal
import prunefield.lab.study
import prunefield.measures.portrait
import prunefield.measures.prediction
import prunefield.tasks.npz  # noqa: F401
from prunefield.cli import main
from prunefield.masks.bits import digest_bits

GIGA = 1 << 30


def zeros(size: int) -> bytes:
    """`size` packed zeros, made from one packed block that is repeated."""
    packer, block = zlib.compressobj(9, zlib.DEFLATED, -15), bytes(1 << 24)
    part = packer.compress(block) + packer.flush(zlib.Z_FULL_FLUSH)
    return part * (size >> 24) + packer.flush()


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


def pack(whole: bytes) -> tuple[bytes, int, int]:
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
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
    bits, shapes = {"weight": torch.zeros(100, dtype=torch.uint8)}, {"weight": [80_000, 80_000]}
    header = {"shapes": shapes, "sha256": digest_bits(bits, shapes if made == 2 else None)}
    header |= {"format": 2} if made == 2 else {}
    save_file(bits, path, metadata={"prunefield-mask": json.dumps(header)})


def write_gz(path: Path, begin: bytes, size: int) -> None:
    packed, length, crc = bomb(begin, size)
    path.write_bytes(b"\x1f\x8b\x08\0\0\0\0\0\0\xff" + packed + struct.pack("<II", crc, length & 0xFFFFFFFF))


def tensor(numel: int, size: tuple[int, ...], stride: tuple[int, ...]) -> bytes:
    """The pickle of {'w': a tensor}, as torch writes it."""

    def tuple_(numbers: tuple[int, ...]) -> bytes:
        return b"(" + b"".join(b"\x8a\x08" + number.to_bytes(8, "little") for number in numbers) + b"t"

    storage = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu"
    storage += b"\x8a\x08" + numel.to_bytes(8, "little") + b"tQ"
    rebuild = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00" + tuple_(size) + tuple_(stride)
    return b"\x80\x02}X\x01\x00\x00\x00w" + rebuild + b"\x89ccollections\nOrderedDict\n)RtRs."


def write_issue(folder: Path) -> dict[str, str]:
    """Those that were found first, and took 6.4, 2.9, 1.2 and 1.1 GB."""
    write_mask(folder / "first.mask", 1)
    write_mask(folder / "second.mask", 2)
    content = {"x.npy": bomb(npy("|u1", (1024, 1 << 20)), GIGA), "y.npy": pack(npy("|u1", (1024,)) + bytes(1024))}
    write_zip(folder / "x.npz", content)
    (folder / "fashion").mkdir()
    write_gz(folder / "fashion/train-images-idx3-ubyte.gz", struct.pack(">4B3I", 0, 0, 8, 3, 1 << 20, 32, 32), GIGA)
    small = {"a/version": pack(b"3\n"), "a/byteorder": pack(b"little")}
    program = pack(tensor(GIGA >> 2, (1 << 14, 1 << 14), (1 << 14, 1)))
    write_zip(folder / "packed.pt", {"a/data.pkl": program, "a/data/0": bomb(b"", GIGA), **small})
    return {
        "mask of 1 kB that claims 6.4 GB, format 1": "measure w.npy --shape 3,2,2 --mask first.mask",
        "mask of 1 kB that claims 6.4 GB, format 2": "measure w.npy --shape 3,2,2 --mask second.mask",
        "npz of 1 MB that unpacks to 1 GB, as a task": "data draw npz,path=x.npz --train 9 --test 9",
        "the same for `predict`": "predict x.npz",
        "gz of 1 MB that unpacks to 1 GB": "data get fashion-mnist --from fashion",
        "deflated .pt of 1 MB that unpacks to 1 GB": "measure packed.pt --shape 3,2,2",
    }


def write_arrays(folder: Path) -> dict[str, str]:
    write_zip(folder / "header.npz", {"x.npy": bomb(b"\x93NUMPY\x02\x00" + struct.pack("<I", GIGA), GIGA)})
    write_zip(folder / "bytes.npz", {"x.npy": bomb(npy("|u1", (96, 1 << 20)), 96 << 20)})
    (folder / "claims.npy").write_bytes(npy("<f8", (1 << 20, 1 << 20)) + bytes(1000))
    (folder / "holes.npy").write_bytes(npy("<f8", (512, 1 << 20)))
    os.truncate(folder / "holes.npy", 128 + (4 << 30))
    entry = struct.pack("<IHHHHHHIIIHHHHHII", 0x02014B50, 20, 20, *[0] * 7, 1, *[0] * 6) + b"x"
    for name, count in (("many", 300_000), ("more", 900_000)):
        size = count * len(entry)
        end = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, count, count, size, 0)
        end += struct.pack("<IIQI", 0x07064B50, 0, size, 1)
        end += struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
        (folder / f"{name}.npz").write_bytes(entry * count + end)
    (folder / "idx").mkdir()
    (folder / "idx/train-images-idx3-ubyte").write_bytes(struct.pack(">4B3I", 0, 0, 8, 3, 1 << 31, 1 << 10, 1 << 10))
    return {
        "npz whose header has 1 GB": "predict header.npz",
        "npz of 96 MB of bytes that would be 770 MB of numbers": "predict bytes.npz",
        "npy of 1 kB that claims 8 TB": "measure claims.npy",
        "npy of 4 GB of holes": "predict holes.npy",
        "zip with 300,000 names": "predict many.npz",
        "zip with 900,000 names": "predict more.npz",
        "IDX file of 16 bytes that claims 2 PB": "data get fashion-mnist --from idx",
    }


def write_archives(folder: Path) -> dict[str, str]:
    pax = tarfile.TarInfo("PaxHeader")
    pax.type, pax.size = tarfile.XHDTYPE, GIGA
    write_gz(folder / "pax.tar.gz", pax.tobuf(tarfile.USTAR_FORMAT), GIGA)
    with gzip.open(folder / "names.tar.gz", "wb", 1) as file:
        block = tarfile.TarInfo("x").tobuf() * 10_000
        for _ in range(100):
            file.write(block)
    found = {
        "tar.gz whose header has 1 GB": "data get cifar10 --from pax.tar.gz",
        "tar.gz with 1,000,000 files": "data get cifar10 --from names.tar.gz",
    }
    label, data = b"X\x06\x00\x00\x00labels", pickle.dumps(np.zeros((2, 3072), np.uint8), 2)[2:-1]
    nested, tuples = b"](" + b"K\x00" * 10 + b"e", b"K\x00" + b"q\x01h\x01\x86" * 60
    for _ in range(8):
        nested = b"](" + nested + b"q\x01" + b"h\x01" * 9 + b"e"
    lists = label + nested + b"sX\x04\x00\x00\x00data" + data.replace(b"numpy._core", b"numpy.core")
    programs = {
        "pickle of 30 bytes that numbers its memory to 2^31": b"\x80\x02}r\xff\xff\xff\x7f" + label + b"]s.",
        "pickle of 7 kB with a list of 10^9 numbers": b"\x80\x02}" + lists + b"s.",
        "pickle with 30 million empty tables": b"\x80\x02](" + b"}" * 30_000_000 + b"e.",
        "pickle with a key that takes forever to hash": b"\x80\x02}" + tuples + b"K\x00s.",
        "pickle that claims 2 GB of bytes": b"\x80\x03B" + struct.pack("<I", 2**31 - 1) + b"x.",
    }
    for number, (name, program) in enumerate(programs.items()):
        with tarfile.open(folder / f"p{number}.tar.gz", "w:gz") as archive:
            member = tarfile.TarInfo("data_batch_1")
            member.size = len(program)
            archive.addfile(member, io.BytesIO(program))
        found[name] = f"data get cifar10 --from p{number}.tar.gz"
    return found


def write_weights(folder: Path) -> dict[str, str]:
    call = b"\x80\x02}X\x01\x00\x00\x00wcbuiltins\nbytearray\n\x8a\x05\x00\xf2\x05\x2a\x01\x85Rs."
    programs = {"wide": tensor(1, (1 << 20, 1 << 10), (0, 0)), "call": call}
    programs["short"] = tensor(1 << 20, (1 << 10, 1 << 10), (1 << 10, 1))
    for name, program in programs.items():
        with zipfile.ZipFile(folder / f"{name}.pt", "w") as archive:
            for part, content in {"data.pkl": program, "version": b"3\n", "data/0": bytes(4)}.items():
                archive.writestr(f"a/{part}", content)
    torch.save({"w": torch.ones(2, 12)}, folder / "old.pt", _use_new_zipfile_serialization=False)
    old = (folder / "old.pt").read_bytes()
    assert b"K\x18N" in old  # the number of entries
    (folder / "old.pt").write_bytes(old.replace(b"K\x18N", b"\x8a\x05\x00\x00\x00\x40\x00N"))
    (folder / "long.safetensors").write_bytes(struct.pack("<Q", 1 << 40) + b"{}")
    empty = {"dtype": "U8", "shape": [0], "data_offsets": [0, 0]}
    large = {"dtype": "F32", "shape": [1 << 20, 1 << 10], "data_offsets": [0, 4 << 30]}
    for name, table in {"names": {f"{n:x}": empty for n in range(250_000)}, "holes": {"w": large}}.items():
        header = json.dumps(table).encode()
        (folder / f"{name}.safetensors").write_bytes(struct.pack("<Q", len(header)) + header)
    os.truncate(folder / "holes.safetensors", 8 + len(header) + (4 << 30))
    return {
        ".pt with one number stretched to 4 GB": "measure wide.pt --shape 1024",
        ".pt with 4 bytes for a million numbers": "measure short.pt --shape 1024",
        ".pt that asks for 5 GB in one call": "measure call.pt",
        "old .pt that claims 4 GB": "measure old.pt --shape 3,2,2",
        "safetensors whose header claims 1 TB": "measure long.safetensors",
        "safetensors with 250,000 names": "measure names.safetensors",
        "safetensors of 4 GB of holes": "measure holes.safetensors --shape 1024",
    }


def write_others(folder: Path) -> dict[str, str]:
    side, packer = 13_000, zlib.compressobj(9)
    body = b"".join(packer.compress(bytes(1 + 3 * side)) for _ in range(side)) + packer.flush()
    parts = {b"IHDR": struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0), b"IDAT": body, b"IEND": b""}
    chunks = [struct.pack(">I", len(part)) + name + part for name, part in parts.items()]
    picture = b"".join(chunk + struct.pack(">I", zlib.crc32(chunk[4:])) for chunk in chunks)
    for kind in "ab":
        (folder / "pictures" / kind).mkdir(parents=True)
        (folder / "pictures" / kind / "0.png").write_bytes(b"\x89PNG\r\n\x1a\n" + picture)
    (folder / "deep.toml").write_text("kind = 'neuron'\nx = " + "[" * 400 + "]" * 400)
    grid = "\n".join(f'"k{n}" = [{", ".join(["0"] * 20)}]' for n in range(3_000))
    (folder / "wide.toml").write_text(f"kind = 'neuron'\n[sweep]\n{grid}\n")
    return {
        "png of 0.5 MB with 169 million pixels": "data draw folder,path=pictures --train 9 --test 9",
        "study nested 400 deep": "run deep.toml",
        "/dev/zero as a study": "run /dev/zero",
        "/dev/zero as weights": "measure /dev/zero",
        "sweep of 20^3,000 runs": "sweep wide.toml",
    }


ALL = (write_issue, write_arrays, write_archives, write_weights, write_others)


def read(arguments: list[str]) -> tuple[int, str, int]:
    """Exit status, what was said on stderr and peak memory in bytes, of a command in a forked process."""
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if not child:
            status = 3
            try:
                os.dup2(said.fileno(), 2)
                os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
                status = main(arguments) if arguments else 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(status)
        _, status, usage = os.wait4(child, 0)
        said.seek(0)
        text = said.read().decode()
    return os.waitstatus_to_exitcode(status), text, usage.ru_maxrss * 1024


def measure_all(folder: Path, writers: Sequence[Callable[[Path], dict[str, str]]]) -> list[dict]:
    """What became of each file."""
    torch.set_num_threads(1)
    os.environ["PRUNEFIELD_DATA"] = str(folder)
    os.chdir(folder)
    np.save("w.npy", np.ones((4, 12), np.float32))
    rows = []
    for write in writers:
        for name, command in write(folder).items():
            _, _, usual = read([])
            status, said, peak = read(command.split())
            rows.append({"file": name, "status": status, "said": said, "peak": peak - usual})
    os.chdir("/")
    return rows


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        found = measure_all(Path(name).resolve(), ALL if "--all" in sys.argv else ALL[:1])
    if "--json" in sys.argv:
        print(json.dumps(found))
    else:
        print("| file | what it says | peak memory |\n|---|---|---|")
        for row in found:
            said = row["said"].strip().removeprefix("prunefield: ").partition("; if you trust")[0]
            print(f"| {row['file']} | {said} | {row['peak'] / 1e6:.0f} MB |")
