"""The type of a table inside a check."""

from typing import Any

Frame = Any  # a DataFrame; pandas' own types cannot follow a selection of a selection
