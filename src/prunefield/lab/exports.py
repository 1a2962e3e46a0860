"""Tables and pictures of studies for other programs: CSV, Parquet and SVG."""

import io
import json
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from prunefield.core.errors import UsageError
from prunefield.core.figures import BLUE, encode_figure, make_figure
from prunefield.core.files import make_folder, write_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure


LINES = 24  # runs of which each has a line of its own in the picture; of more, each is a point
PANELS = 4  # settings, and values, beside and below each other


def save_study(
    results: Any, table: Any, folder: Path, name: str, *, parquet: bool = False, chosen_by: str = "--out"
) -> list[Path]:
    """Writes NAME.csv with one row per run, NAME.svg if there is something to plot, and NAME.parquet if asked for.

    `table` is that of `tabulate_study`.
    """
    make_folder(folder, chosen_by=chosen_by)
    files = {"csv": table.to_csv(index=False).encode()}
    if parquet:
        files["parquet"] = encode_parquet(table)
    with suppress(UsageError):  # no numbers
        files["svg"] = encode_figure(draw_study(results, table), "svg")
    for ending, data in files.items():
        write_whole(folder / f"{name}.{ending}", data, chosen_by=chosen_by)
    return [folder / f"{name}.{ending}" for ending in files]


def draw_study(results: Any, table: Any) -> "Figure":
    """Lines for a few runs; for many, a point for each: its last values against the settings that vary."""
    own = [key for key in table if str(key).removeprefix("settings.") in results.varying]
    settings = [key for key in own if not str(key).endswith("seed") and table[key].map(str).nunique() > 1][:PANELS]
    values = [key for key in table.select_dtypes("number") if key not in own and table[key].nunique() > 1][:PANELS]
    if len(table) <= LINES or not settings or not values:
        return results.plot()

    def draw(figure: "Figure") -> None:
        every = figure.subplots(len(values), len(settings), squeeze=False, sharex="col", sharey="row")
        for row, value in zip(every, values, strict=True):
            for axes, key in zip(row, settings, strict=True):
                is_number = table[key].dtype.kind in "iuf"
                axes.scatter(table[key] if is_number else table[key].map(str), table[value], s=6, color=BLUE, alpha=0.4)
                if is_number and table[key].min() > 0 and table[key].max() > 30 * table[key].min():
                    axes.set_xscale("log")
                axes.label_outer()
            row[0].set_ylabel(value)
        for axes, key in zip(every[-1], settings, strict=True):
            axes.set_xlabel(key)

    return make_figure(draw, (1.5 + 2.2 * len(settings), 0.8 + 1.8 * len(values)))


def tabulate_study(results: Any) -> Any:
    """One row per finished run: its name, the settings that vary, and its last record."""
    table: Any = results.frame(last=True)
    table.insert(0, "run", [run.folder for run in results.done])
    return table


def require_parquet() -> None:
    """Says in one line what is missing for Parquet."""
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        raise UsageError("Parquet needs pyarrow; run: pip install 'prunefield[parquet]'") from None


def encode_parquet(table: Any) -> bytes:
    """The table as Parquet; lists, and columns of numbers and texts, become text."""
    require_parquet()
    plain = table.rename(columns=str)
    for key in plain:
        kinds = {type(value) for value in plain[key] if value is not None}
        if plain[key].dtype == object and (len(kinds) > 1 or not kinds <= {str, bool, int, float}):
            plain[key] = [value if isinstance(value, str | None) else json.dumps(value) for value in plain[key]]
    buffer = io.BytesIO()
    plain.to_parquet(buffer, engine="pyarrow", index=False)
    return buffer.getvalue()
