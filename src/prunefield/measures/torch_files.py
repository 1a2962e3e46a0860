"""Files of torch.save, checked before torch reads them, so that they cannot execute code or exhaust the memory.

`torch.load(weights_only=True)` executes nothing unknown, but it trusts the sizes in a file: lengths of storages, shapes
of tensors, sizes of unpacked parts. Here the file's pickle is read with stand-ins for everything, which take no memory,
and the sizes it claims are compared with the sizes it has.
"""

import io
import pickle
import tarfile
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import IO, Any

from prunefield.core.errors import UsageError
from prunefield.core.sizes import check_claim, count_stored
from prunefield.data.arrays import open_zip
from prunefield.data.pickles import Reader

WIDTHS = {"Double": 8, "Long": 8, "ComplexFloat": 8, "ComplexDouble": 16, "Float": 4, "Int": 4, "QInt32": 4}
WIDTHS |= {"Half": 2, "BFloat16": 2, "Short": 2}  # bytes of a number; 1 for any other
TAR = 512  # bytes of a header


def check_torch_file(path: Path) -> None:
    """Refuses a file that claims more than it contains, or that would do more than create tensors."""
    stored = count_stored(path)
    with path.open("rb") as file:
        begin = file.read(TAR)
        if not begin:
            raise UsageError(f"{path} is empty")
        file.seek(0)
        if begin[:2] == b"PK":
            with open_zip(file, path) as archive:
                sizes = {item.filename.partition("/")[2]: item.file_size for item in archive.infolist()}
                check_claim(path, sum(item.file_size for item in archive.infolist()), stored)
                names = [item.filename for item in archive.infolist() if item.filename.endswith("/data.pkl")]
                if len(names) != 1:
                    raise UsageError(f"{path} was not written by torch.save; save net.state_dict()")
                content = io.BytesIO(archive.read(names[0]))
            found = _Survey(content)
            found.load()
            short = [key for key, size in found.storages.items() if size != sizes.get(f"data/{key}")]
            if short:
                raise UsageError(f"{path} is damaged: its tensor {short[0]!r} is truncated")
        elif begin[:1] == pickle.PROTO and not _is_tar(begin):
            found = _survey_old(file)
        else:
            raise UsageError(f"{path} was not written by torch.save; save net.state_dict()")
    check_claim(path, sum(found.storages.values()), stored)
    check_claim(path, found.claimed, stored)


def _survey_old(file: IO[bytes]) -> "_Survey":
    """The format before torch 1.6: a magic number, a version, system information, the saved object, the numbers."""
    for _ in range(3):
        _Survey(file).load()
    found = _Survey(file)
    found.load()
    return found


def _is_tar(begin: bytes) -> bool:
    """Whether it is a tar, an even older format, which torch would unpack."""
    try:
        tarfile.TarInfo.frombuf(begin, "utf-8", "surrogateescape")
    except tarfile.HeaderError:
        return False
    return True


class _Made:
    """Stands for whatever a name in a pickle creates when called."""

    def __init__(self, *_: object) -> None: ...

    def __setstate__(self, _: object) -> None: ...


class _Table(dict):
    """Stands for an OrderedDict or a Counter."""

    def __init__(self, *_: object) -> None:
        super().__init__()

    def __setstate__(self, _: object) -> None: ...


class _Everything(Mapping[tuple[str, str], Any]):
    """A stand-in for every name that torch may know; torch itself refuses the others."""

    def __init__(self, survey: "_Survey") -> None:
        self._survey = survey

    def __contains__(self, key: object) -> bool:
        _, name = key if isinstance(key, tuple) else ("", "")
        return not name.endswith("Tensor") and name not in ("bytearray", "TypedStorage", "UntypedStorage")

    def __getitem__(self, key: tuple[str, str]) -> Any:
        module, name = key
        if name in ("OrderedDict", "Counter"):
            return _Table
        if name.endswith("Storage"):
            return name.removesuffix("Storage")
        return self._survey.rebuild if name in _SIZED and module == "torch._utils" else _Made

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return 0


_SIZED = ("_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_qtensor")  # storage, offset, size, …


class _Survey(Reader):
    """Records the bytes of each storage, and those of all tensors in float32."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file, _Everything(self), (str, bytes, int, float, type(None)))
        self.storages: dict[str, int] = {}
        self.claimed = 0

    def persistent_load(self, pid: Any) -> Any:
        _, kind, key, _, number, *_ = pid
        self.storages[str(key)] = _check_number(number) * WIDTHS.get(kind, 1)
        return _Made()

    def rebuild(self, _storage: object, _offset: object, size: Any, *_: object) -> _Made:
        self.claimed += 4 * prod(map(_check_number, size))
        return _Made()


def _check_number(number: Any) -> int:
    if type(number) is not int or number < 0:
        raise ValueError("a size that is not a whole number")
    return number
