"""Data sets as files: fetched, read safely, converted once, verified."""

import os
from pathlib import Path

VARIABLE = "PRUNEFIELD_DATA"


def find_data_folder() -> Path:
    """The folder of all data sets: the environment variable PRUNEFIELD_DATA, or a folder in the user's cache."""
    if own := os.environ.get(VARIABLE):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "prunefield" / "data"
