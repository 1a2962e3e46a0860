"""Packs: finished runs in one file, to hand on. Nothing in it is compressed, and nothing read from it is executed.

    pack.json                 the format, and the digest of every run
    runs/KIND-ID/…            the files of each run, as in a store
    comment at the end        the SHA-256 of all bytes before it

A pack is a zip archive with one order, one date and no compression, so the same runs give the same bytes. A checksum
shows damage, not dishonesty: a pack is worth as much as your trust in whoever made it.
"""

import hashlib
import os
import re
import stat
import zipfile
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple, cast

from prunefield.core.errors import StoreError, UsageError, list_names
from prunefield.core.files import cannot_read, open_whole, store_option
from prunefield.core.sizes import Meter, count_stored
from prunefield.lab.examination import FILES, MARK, Examined, check_contents, examine_files
from prunefield.lab.folder import RunFolder
from prunefield.lab.json_files import decode_table, encode_table

FORMAT = 1
CONTENT = "pack.json"
MEMBERS = (*FILES, MARK)
RUN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*-[0-9a-f]{16}")
SEAL = 64  # bytes of the comment: a SHA-256 in hexadecimal digits
LONGEST = 64 << 20  # bytes of the table of contents: 100,000 runs
BLOCK = 1 << 20


class Written(NamedTuple):
    """What `write_pack` wrote: the digest of each run, the bytes of the file and the SHA-256 at its end."""

    runs: dict[str, str]
    bytes: int
    seal: str


def write_pack(folders: Iterable[RunFolder], path: Path | str, *, chosen_by: str = "--out") -> Written:
    """Writes finished runs to one file; a damaged run is refused before anything is written."""
    chosen = sorted(dict.fromkeys(folders), key=lambda folder: folder.name)
    if not chosen:
        raise UsageError("there is no finished run to pack")
    digests = {folder.name: _examine(folder).digest for folder in chosen}
    with open_whole(Path(path), chosen_by=chosen_by) as file:
        with zipfile.ZipFile(file, "w") as archive:
            archive.comment = b"0" * SEAL
            archive.writestr(_describe(CONTENT), encode_table({"format": FORMAT, "runs": digests}))
            for folder in chosen:
                found = _examine(folder)  # read again rather than kept: stores are large
                if found.digest != digests[folder.name]:
                    raise StoreError(f"{folder.name} was changed while it was packed; run the same command again")
                for name in MEMBERS:
                    archive.writestr(_describe(f"runs/{folder.name}/{name}"), found.contents[name])
        size = file.seek(0, os.SEEK_END)
        seal = _hash_start(file, size - SEAL)
        file.seek(size - SEAL)
        file.write(seal.encode())
    return Written(digests, size, seal)


def _describe(name: str) -> zipfile.ZipInfo:
    """The entry of a file: the same for everybody, at any time."""
    info = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
    info.create_system, info.external_attr = 3, (stat.S_IFREG | 0o644) << 16
    return info


def _examine(folder: RunFolder) -> Examined:
    found = folder.examine()
    if found.problems:
        command = f"prunefield runs verify{store_option(folder.root)}"
        raise StoreError(f"{folder.name} is damaged: {found.problems[0]}; `{command}` finds all that are")
    return found


def _hash_start(file: IO[bytes], size: int) -> str:
    """The SHA-256 of the first bytes of a file."""
    found = hashlib.sha256()
    file.seek(0)
    while size > 0 and (block := file.read(min(size, BLOCK))):
        found.update(block)
        size -= len(block)
    return found.hexdigest()


class Pack:
    """An open pack: `digests` by the names of its runs. Made by `open_pack`, which has checked its form."""

    def __init__(self, path: Path, archive: zipfile.ZipFile, digests: dict[str, str]) -> None:
        self.path, self.digests = path, digests
        self._archive = archive

    def examine(self, run: str) -> Examined:
        """The files of a run, compared with their checksums, its digest, its settings and its name."""
        found = examine_files(run, lambda name: self._archive.read(f"runs/{run}/{name}"))
        if not found.problems and found.digest != self.digests[run]:
            found.problems.append(f"its digest is not the one in {CONTENT}")
        return found

    def check(self, runs: Collection[str]) -> None:
        """Refuses the pack if one of these runs is not whole, or holds something else than records."""
        for run in runs:
            found = self.examine(run)
            try:
                if not found.problems:
                    check_contents(found)
            except StoreError as error:
                found.problems.append(str(error))
            if found.problems:
                raise UsageError(f"{self.path} is refused: in {run}, {found.problems[0]}; ask for the file again")


@contextmanager
def open_pack(path: Path | str) -> Iterator[Pack]:
    """Opens a pack, after the checksum of the whole file and the names in it were checked."""
    path = Path(path)
    count_stored(path)  # refuses what is not a regular file
    try:
        with path.open("rb") as file:
            _check_seal(path, file)
            meter = Meter(file, LONGEST, path)
            with zipfile.ZipFile(cast(IO[bytes], meter)) as archive:
                meter.left = None
                yield Pack(path, archive, _read_content(path, archive))
    except OSError as error:
        raise cannot_read(path, error) from None
    except (zipfile.BadZipFile, NotImplementedError, EOFError) as error:
        raise _refuse(path, str(error) or type(error).__name__) from None


def _refuse(path: Path, why: str) -> UsageError:
    return UsageError(f"{path} is refused: {why}; ask for the file again")


def _check_seal(path: Path, file: IO[bytes]) -> None:
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if file.read(4) != b"PK\3\4":
        raise UsageError(f"{path} is not a pack of runs; `prunefield runs pack --out FILE` makes one")
    file.seek(max(0, size - SEAL))
    if file.read() != _hash_start(file, size - SEAL).encode():
        raise _refuse(path, "it is damaged or truncated: its bytes do not match the checksum at its end")


def _read_content(path: Path, archive: zipfile.ZipFile) -> dict[str, str]:
    """The digests in `pack.json`, if the archive has exactly the files of these runs, each once and as it is."""
    items = archive.infolist()
    counts = Counter(item.filename for item in items)
    for item in items:
        if oddity := "twice" if counts[item.filename] > 1 else _find_oddity(item):
            raise _refuse(path, f"it has {item.filename!r:.100} {oddity}, which a pack never has")
    if sum(item.file_size for item in items) > path.stat().st_size:
        raise _refuse(path, "its files claim more bytes than it has")
    if CONTENT not in counts:
        raise _refuse(path, f"it has no {CONTENT}, so it is not a pack")
    try:
        table = decode_table(archive.read(CONTENT))
    except (ValueError, RecursionError) as error:
        raise _refuse(path, f"{CONTENT} is unreadable ({error})") from None
    made = table.get("format")
    if type(made) is not int or made != FORMAT:
        raise UsageError(
            f"{path} is a pack of format {made!r:.50}, this version of prunefield reads {FORMAT}; upgrade prunefield"
        )
    digests = table.get("runs")
    if not isinstance(digests, dict) or not all(RUN.fullmatch(run) and _is_digest(digests[run]) for run in digests):
        raise _refuse(path, f"{CONTENT} does not list runs with their digests")
    wanted = {CONTENT, *(f"runs/{run}/{name}" for run in digests for name in MEMBERS)}
    if odd := sorted(wanted ^ counts.keys()):
        raise _refuse(path, f"its files are not those that {CONTENT} lists: {list_names(odd[:3])!r:.200}")
    return digests


def _find_oddity(item: zipfile.ZipInfo) -> str | None:
    """In which way a file is not simply there."""
    if item.flag_bits & 1:
        return "encrypted"
    if item.compress_type != zipfile.ZIP_STORED or item.compress_size != item.file_size:
        return "compressed"
    return None if stat.S_IFMT(item.external_attr >> 16) in (0, stat.S_IFREG) else "as a link or a device"


def _is_digest(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value) is not None
