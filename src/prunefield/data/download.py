"""Downloads that resume where they stopped and are kept only if the checksum is correct."""

import hashlib
import http.client
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from prunefield.core.errors import RunError
from prunefield.core.files import cannot, make_folder
from prunefield.data import VARIABLE

Tell = Callable[[int, int], None]  # bytes received, bytes in total
BLOCK = 1 << 20
TRIES = 5  # in a row without a single new byte
PATIENCE = 30  # seconds without an answer


def download_file(address: str, path: Path, *, sha256: str, size: int, tell: Tell) -> Path:
    """Fetches `address` to `path`, resuming a partial download of an earlier call."""
    if path.exists() and hash_file(path) == sha256:
        return path
    make_folder(path.parent, chosen_by=VARIABLE)
    part = path.with_name(f"{path.name}.part")
    failures = 0
    while (begun := part.stat().st_size if part.exists() else 0) < size:
        try:
            _fetch_rest(address, part, begun, size, tell)
            reason = "the connection was closed early"
        except (OSError, http.client.HTTPException) as error:
            reason = str(getattr(error, "reason", None) or error) or type(error).__name__
            if isinstance(error, urllib.error.HTTPError) and error.code < 500:
                raise RunError(f"cannot fetch {address}: {error.code} {reason}") from None
        failures = failures + 1 if (part.stat().st_size if part.exists() else 0) <= begun else 0
        if failures and (failures == TRIES or not begun):
            raise RunError(f"cannot fetch {address}: {reason}; run the same command to continue from here") from None
    got = hash_file(part)
    if got != sha256:
        part.unlink()
        raise RunError(f"{address} returned a file with the SHA-256 {got}, expected {sha256}; it was deleted")
    part.replace(path)
    return path


def _fetch_rest(address: str, part: Path, begun: int, size: int, tell: Tell) -> None:
    """Appends what arrives to `part`; if the server cannot resume, the download starts again."""
    request = urllib.request.Request(address, headers={"Range": f"bytes={begun}-"} if begun else {})
    with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
        resumed = begun > 0 and answer.status == http.client.PARTIAL_CONTENT
        have = begun if resumed else 0
        try:
            file = part.open("ab" if resumed else "wb")
        except OSError as error:
            raise cannot("write", part, error, chosen_by=VARIABLE) from None
        with file:
            while have < size and (block := answer.read(min(BLOCK, size - have))):
                file.write(block)
                have += len(block)
                tell(have, size)


def hash_file(path: Path) -> str:
    """The SHA-256 of a file of any size, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
