"""Event files for TensorBoard."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from prunefield.loggers import Journal, Logger


class Tensorboard(Logger):
    """One folder of events for each run, named like the run; its settings are a text. `tensorboard --logdir FOLDER`."""

    package: ClassVar[str] = "tensorboard"

    def open(self, folder: Path, run: str, settings: Mapping[str, Any]) -> Journal:
        from torch.utils.tensorboard import SummaryWriter

        for old in list_events(folder, run):
            old.unlink(missing_ok=True)
        writer = SummaryWriter(str(folder / run))
        writer.add_text("settings", "\n".join(f"    {key} = {value}" for key, value in settings.items()))

        def write(step: int, numbers: Mapping[str, float]) -> None:
            for name, number in numbers.items():
                writer.add_scalar(name, number, step)

        return Journal(write, writer.close)

    def has(self, folder: Path, run: str) -> bool:
        return bool(list_events(folder, run))


def list_events(folder: Path, run: str) -> list[Path]:
    """The files of events of a run."""
    return sorted((folder / run).glob("events.out.tfevents.*"))
