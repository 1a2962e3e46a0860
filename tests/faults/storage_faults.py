"""Disks, files and clocks: a disk that is full at each kind of write, read-only stores, damage, a clock set back."""

import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workplace import Workplace, expect

from prunefield.core.errors import Error
from prunefield.lab.folder import SAFE_POINTS
from prunefield.lab.joining import merge_stores
from prunefield.lab.packs import write_pack
from prunefield.lab.store import Store

SIZE = "1m"
WRITES = ("store.json", "settings.json", "checkpoint.safetensors", "records.json", "tensors.safetensors",
          "state.safetensors", "made.json", "done.json")  # fmt: skip


def why_not() -> str | None:
    """Why no small disk can be mounted here, or None."""
    if os.geteuid() != 0:
        return "only root can mount a small disk"
    tried = subprocess.run(
        ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/mnt"], capture_output=True, check=False
    )
    return None if tried.returncode == 0 else "no small disk can be mounted here"


@contextmanager
def small_disk(place: Workplace) -> Iterator[Path]:
    place.number += 1
    folder = place.root / f"disk-{place.number}"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def fill_disk(folder: Path) -> None:
    """Until not one byte more can be written."""
    with open(folder / "ballast", "ab", buffering=0) as file:
        for size in (1 << 16, 4096, 1):
            try:
                while True:
                    file.write(b"x" * size)
            except OSError:
                continue


def fill_at(folder: Path, name: str):
    """Makes the disk full at the moment when a file with this name is opened for writing."""

    def prepare() -> None:
        def watch(event: str, args: tuple) -> None:
            if event == "open" and f"{folder}/" in str(args[0]) and f".{name}." in os.path.basename(str(args[0])):
                fill_disk(folder)

        sys.addaudithook(watch)

    return prepare


def full_disk(name: str):
    def fault(place: Workplace, draw: random.Random) -> str:
        with small_disk(place) as folder:
            is_point = name == SAFE_POINTS[0]
            root = folder / "store"
            shutil.copytree(place.unfinished.root, root) if name != "store.json" else None
            place.close_gate() if is_point else place.open_gate()
            store = Store(place.root / "nowhere")
            store.root = root
            line = place.obtain_all(store, fill_at(folder, name))
            expect("no space left" in line, f"not said that the disk is full: {line!r}")
            (folder / "ballast").unlink()
            for one in Store(root):
                expect(not one.is_done or not one.problems(), "a part of a result looks finished")
            place.open_gate()
            again = place.obtain_all(store)
            expect(again == "", f"the same call fails when there is room: {again!r}")
            place.check(Store(root), kept=[place.runs[0].folder] if name != "store.json" else ())
        return "one line; the same call continues"

    return fault


def full_disk_behind(place: Workplace, draw: random.Random) -> str:
    """The disk becomes full while results are written in the background, after some of their files."""
    with small_disk(place) as folder:
        store, place.number = Store(folder / "store"), place.number + 1
        place.open_gate()
        name = draw.choice(["records.json", "tensors.safetensors", "state.safetensors", "made.json", "done.json"])
        line = place.obtain_all(store, fill_at(folder, name), behind=True)
        expect("no space left" in line, f"not said that the disk is full: {line!r}")
        (folder / "ballast").unlink()
        for one in store:
            expect(not one.is_done or not one.problems(), "a part of a result looks finished")
        again = place.obtain_all(store, behind=True)
        expect(again == "", f"the same call fails when there is room: {again!r}")
        place.check(store)
    return f"at {name}: one line; the same call continues"


def full_disk_elsewhere(what: str):
    def fault(place: Workplace, draw: random.Random) -> str:
        with small_disk(place) as folder:
            work = {
                "merge": lambda: merge_stores(folder / "store", [place.finished]),
                "pack": lambda: write_pack(place.finished, folder / "runs.zip"),
            }[what]
            Store(folder / "store")
            fill_disk(folder)
            with open(folder / "ballast", "r+b") as file:
                file.truncate(max(0, file.seek(0, 2) - draw.randrange(0, 40_000)))
            try:
                work()
                said = "there was room enough"
            except Error as error:
                said = str(error)
                expect("no space left" in said, f"not said that the disk is full: {said!r}")
            expect(not list(folder.rglob("*.part")), "a part of a file was left behind")
            (folder / "ballast").unlink()
            work()
            if what == "merge":
                place.check(Store(folder / "store"), kept=place.expected)
            else:
                write_pack(place.finished, place.root / "whole.zip")
                expect((folder / "runs.zip").read_bytes() == (place.root / "whole.zip").read_bytes(), "other bytes")
        return "one line; the same call continues"

    return fault


def read_only(place: Workplace, draw: random.Random) -> str:
    with small_disk(place) as folder:
        shutil.copytree(place.unfinished.root, folder / "store")
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        place.open_gate()
        line = place.obtain_all(Store(folder / "store"))
        expect("read-only" in line, f"not said that the store is read-only: {line!r}")
        subprocess.run(["mount", "-o", "remount,rw", str(folder)], check=True)
        expect(place.obtain_all(Store(folder / "store")) == "", "the same call fails when the store is writable")
        place.check(Store(folder / "store"), kept=[place.runs[0].folder])
    return "one line; the same call continues"


def harm_file(path: Path, how: str, draw: random.Random) -> None:
    data = bytearray(path.read_bytes())
    if how == "deleted":
        path.unlink()
    elif how == "truncated":
        path.write_bytes(data[: draw.randrange(len(data))])
    else:
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        path.write_bytes(data)


def harm_finished(how: str):
    def fault(place: Workplace, draw: random.Random) -> str:
        place.open_gate()
        store = place.new_store(place.finished)
        run = draw.choice(place.runs)
        folder = store.folder(run)
        path = draw.choice(sorted(folder.path.iterdir()))
        harm_file(path, how, draw)
        line = place.obtain_all(store)
        if line:
            expect(folder.name in line and "runs remove" in line, f"the damage is not named: {line!r}")
            folder.remove()
            expect(place.obtain_all(store) == "", "the same call fails after the run was removed")
        place.check(store, kept=[other.folder for other in place.runs if other != run])
        return f"{path.name}: {'refused in one line' if line else 'computed again'}"

    return fault


def harm_unfinished(how: str):
    def fault(place: Workplace, draw: random.Random) -> str:
        place.open_gate()
        store = place.new_store(place.unfinished)
        files = sorted(store.folder(place.runs[1]).path.iterdir())
        path = draw.choice([file for file in files if file.name != "progress"])  # which is only shown
        harm_file(path, how, draw)
        line = place.obtain_all(store)
        expect(line == "", f"the run does not continue: {line!r}")
        place.check(store, kept=[place.runs[0].folder])
        return f"{path.name}: continued"

    return fault


def set_clock_back(place: Workplace, draw: random.Random) -> str:
    """All files are from the future, and the clock of the process is years behind and runs backwards."""
    place.open_gate()
    store = place.new_store(place.unfinished)
    future = time.time() + draw.randrange(10**5, 10**8)
    for path in sorted(store.root.rglob("*")):
        os.utime(path, (future, future))
    real, shift = time.time, draw.randrange(10**7, 5 * 10**8)

    def prepare() -> None:
        begin, gmtime = real(), time.gmtime
        shifted = lambda: begin - shift - 1000 * (real() - begin)  # noqa: E731
        time.time = shifted
        time.gmtime = lambda seconds=None: gmtime(shifted() if seconds is None else seconds)

    expect(place.obtain_all(store, prepare) == "", "the call fails")
    place.check(store, kept=[place.runs[0].folder])
    return f"{shift // 86400} days back"


FAULTS = {
    **{f"full disk while writing {name}": (full_disk(name), 1) for name in WRITES},
    "full disk while writing in the background": (full_disk_behind, 2),
    "full disk during runs merge": (full_disk_elsewhere("merge"), 1),
    "full disk during runs pack": (full_disk_elsewhere("pack"), 1),
    "store becomes read-only": (read_only, 1),
    **{f"file of a finished run {how}": (harm_finished(how), 2) for how in ("truncated", "flipped", "deleted")},
    **{f"file of an unfinished run {how}": (harm_unfinished(how), 2) for how in ("truncated", "flipped", "deleted")},
    "clock set back, files from the future": (set_clock_back, 2),
}
NEEDS_DISK = [name for name in FAULTS if "disk" in name or "read-only" in name]
