"""Kept values: what the runs of published items recorded, shipped without their tensors.

The files are `papers/PAPER/published/SCALE-values.json.gz`. An item whose table is made of values alone (`from_values`)
can be judged from them, so that its runs may be computed on several machines or days, a part each; and anyone can check
that the published verdicts follow from the recorded values without computing anything.
"""

import gzip
import json
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from prunefield.core.errors import StoreError
from prunefield.core.files import make_folder, write_whole
from prunefield.lab.execution import order_runs
from prunefield.lab.store import Store
from prunefield.papers import Item, Scale
from prunefield.report.ledger import load_paper
from prunefield.runs import Record, Result, Value

MOST = 20_000_000  # bytes of a file when unpacked
VERSIONS = ("prunefield", "python", "torch", "numpy", "processor")  # the last is not known of the oldest runs


class KeptRun(BaseModel):
    """A finished run: its digest, the versions, processor and seconds that made it, and the values of its records."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    digest: str
    versions: dict[str, str]
    seconds: float
    values: list[dict[str, Value]]

    def as_result(self) -> Result:
        """The result without its tensors."""
        return Result([Record(values) for values in self.values], self.digest)


class KeptFile(BaseModel):
    """The runs of a paper at a scale, by name."""

    format: Literal[1] = 1
    runs: dict[str, KeptRun]


def locate_kept(paper: str, scale: Scale) -> Path:
    """The file of a paper at a scale, in the folder of its package."""
    return Path(load_paper(paper).__path__[0]) / "published" / f"{scale}-values.json.gz"


def read_kept_runs(paper: str, scale: Scale) -> dict[str, KeptRun]:
    """The kept runs of a paper at a scale, by name; none if there is no such file."""
    path = locate_kept(paper, scale)
    try:
        with gzip.open(path) as file:
            return KeptFile.model_validate_json(file.read(MOST)).runs
    except FileNotFoundError:
        return {}
    except (OSError, EOFError, zlib.error, ValidationError):
        raise StoreError(f"{path} is damaged; install prunefield again, or remove it and run `make publish`") from None


def write_kept_runs(paper: str, scale: Scale, runs: Mapping[str, KeptRun]) -> Path:
    """Writes the file; the same runs give the same bytes."""
    path = locate_kept(paper, scale)
    table = KeptFile(runs=dict(sorted(runs.items()))).model_dump()
    make_folder(path.parent)
    write_whole(path, gzip.compress(json.dumps(table, separators=(",", ":")).encode(), mtime=0))
    return path


def keep_runs(store: Store, items: Iterable[Item], scale: Scale) -> dict[str, KeptRun]:
    """The runs of these items that are finished in a store."""
    found = {}
    for run in {run.folder: run for item in items for run in order_runs(item.plan(scale))}.values():
        folder = store.folder(run)
        if folder.is_done:
            result, made = folder.read(), folder.table("made")
            versions = {name: made[name] for name in VERSIONS if name in made}
            found[run.folder] = KeptRun(
                digest=result.digest, versions=versions, seconds=made["seconds"], values=result.values
            )
    return found
