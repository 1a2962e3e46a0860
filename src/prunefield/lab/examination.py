"""Whether the files of a finished run are what its mark says, wherever they are kept: in a store or in a pack."""

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from prunefield.core.errors import StoreError
from prunefield.core.files import checksum
from prunefield.core.plugin import hash_settings
from prunefield.lab.json_files import decode_table

if TYPE_CHECKING:  # a list of runs needs no torch
    from prunefield.runs import Result

FOUND = ("settings.json", "records.json", "tensors.safetensors", "state.safetensors")  # the digest is of these
FILES = (*FOUND, "made.json")
MARK = "done.json"


class Examined(NamedTuple):
    """What is wrong with a finished run; if nothing is, the content of its files and its digest."""

    problems: list[str]
    contents: dict[str, bytes] = {}  # noqa: RUF012
    digest: str = ""


def examine_files(run: str, read: Callable[[str], bytes]) -> Examined:
    """Reads every file of the finished run with this name, and compares it with `done.json`, and that with the rest."""
    try:
        contents = {MARK: read(MARK)}
        done = decode_table(contents[MARK])
    except (OSError, ValueError, RecursionError):
        return Examined([f"{MARK} is unreadable"])
    sums = done.get("files")
    if not isinstance(sums, dict) or sums.keys() != set(FILES):
        return Examined([f"{MARK} does not list the files of a finished run ({', '.join(FILES)})"])
    problems = []
    for name in FILES:
        try:
            contents[name] = read(name)
        except FileNotFoundError:
            problems.append(f"{name} is missing")
        except OSError as error:
            problems.append(f"{name} cannot be read ({(error.strerror or str(error)).lower()})")
        else:
            if checksum(contents[name]) != sums[name]:
                problems.append(f"{name} was truncated or edited")
    if problems:
        return Examined(problems)
    digest, owner = combine_sums(sums), _find_owner(contents["settings.json"])
    if done.get("digest") != digest:
        problems.append(f"the digest in {MARK} is not that of its files")
    if owner != run:
        problems.append(f"its settings are those of {owner}: the folder was renamed or exchanged")
    return Examined(problems, contents, digest)


def decode_result(found: Examined) -> "Result":
    """The records in the files of a finished run; StoreError if they hold something else."""
    from prunefield.lab.packing import join_records, unpack_tensors
    from prunefield.runs import Result

    tensors, _ = unpack_tensors(found.contents["tensors.safetensors"])
    try:
        return Result(join_records(decode_values(found.contents["records.json"]), tensors), found.digest)
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise StoreError(f"records.json and tensors.safetensors hold no records ({error})") from None


def decode_values(data: bytes) -> list[dict[str, Any]]:
    """The values of records in `records.json`; ValueError or RecursionError if it holds something else."""
    rows = json.loads(data, parse_constant=_refuse_constant)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("a list of tables was expected")
    return rows


def _refuse_constant(text: str) -> None:
    raise ValueError(f"{text} is not a number")


def check_contents(found: Examined) -> None:
    """StoreError if a file of a finished run holds something else than it should; checksums do not show that."""
    from prunefield.lab.packing import unpack_tensors

    decode_result(found)
    unpack_tensors(found.contents["state.safetensors"])
    try:
        decode_table(found.contents["made.json"])
    except (ValueError, RecursionError) as error:
        raise StoreError(f"made.json is unreadable ({error})") from None


def combine_sums(sums: Mapping[str, str]) -> str:
    """The digest of a result from the checksums of its files."""
    return checksum("".join(sums[name] for name in FOUND).encode())


def _find_owner(settings: bytes) -> str:
    """The name of the run with these settings."""
    try:
        return name_run(json.loads(settings))
    except (ValueError, RecursionError):
        return "no run"


def name_run(settings: Any) -> str:
    """The name of the run with these settings."""
    try:
        return f"{settings['kind'].partition('@')[0]}-{hash_settings(settings)}"
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        return "no run"
