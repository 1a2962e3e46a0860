"""Offline runs for Weights & Biases."""

import shutil
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from prunefield.loggers import Journal, Logger


class Wandb(Logger):
    """One offline run of W&B for each run, with its name as id and its settings as config; nothing is sent.

    `wandb sync FOLDER/wandb/offline-run-*` uploads them. Console output, code and the machine are not recorded.
    """

    package: ClassVar[str] = "wandb"

    project: str = Field(default="prunefield", min_length=1, description="the W&B project to sync to")

    def open(self, folder: Path, run: str, settings: Mapping[str, Any]) -> Journal:
        wandb: Any = import_module("wandb")
        folder.mkdir(parents=True, exist_ok=True)  # otherwise W&B takes a temporary one
        for old in list_offline_runs(folder, run):
            shutil.rmtree(old)
        quiet = wandb.Settings(
            console="off", silent=True, disable_code=True, disable_git=True, x_disable_meta=True, x_disable_stats=True
        )
        opened = wandb.init(
            mode="offline", dir=str(folder), project=self.project, id=run, name=run, config=dict(settings),
            reinit="create_new", settings=quiet,
        )  # fmt: skip

        def write(step: int, numbers: Mapping[str, float]) -> None:
            opened.log(dict(numbers), step=step)

        return Journal(write, opened.finish)

    def has(self, folder: Path, run: str) -> bool:
        return bool(list_offline_runs(folder, run))


def list_offline_runs(folder: Path, run: str) -> list[Path]:
    """The folders of a run, whose names end with its id."""
    return sorted((folder / "wandb").glob(f"offline-run-*-{run}"))
