"""Display: how a result looks in a terminal, in a notebook and as a picture."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar

from prunefield.core.errors import show_line
from prunefield.core.figures import make_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

ROWS = 60  # of a long table are printed, from its beginning and its end
CELLS: dict[str, Any] = {"float_format": "{:.4g}".format, "na_rep": "–"}


class Displayed(ABC):
    """A result with a title in one line, a tidy table and a drawing: all that a terminal and a notebook need.

    `repr` is the title; `print` and a notebook show it with the table of `overview` and the lines of `notes`. Names in
    a table may come from anybody's file: control characters and markup are shown, not obeyed.

    >>> import pandas
    >>> class Counts(Displayed):
    ...     title = "2 layers"
    ...     def frame(self):
    ...         return pandas.DataFrame({"layer": ["a", "<b>"], "density": [1.0, 1 / 3]})
    ...     def draw(self, figure):
    ...         figure.subplots().bar(*self.frame().to_numpy().T)
    >>> Counts()
    <Counts: 2 layers>
    >>> print(Counts())
    2 layers
    layer  density
        a        1
      <b>   0.3333
    >>> "&lt;b&gt;" in Counts()._repr_html_()
    True
    """

    size: ClassVar[tuple[float, float]] = (7.0, 3.5)  # of the drawing, in inches

    @property
    @abstractmethod
    def title(self) -> str:
        """What was found, in one line."""

    @abstractmethod
    def frame(self) -> "DataFrame":
        """What was found as a tidy table."""

    @abstractmethod
    def draw(self, figure: "Figure") -> None:
        """Draws what was found into an empty figure of `size`."""

    def overview(self) -> "DataFrame":
        """The table that is printed."""
        return self.frame()

    def notes(self) -> Sequence[str]:
        """Lines below the table."""
        return ()

    def plot(self) -> "Figure":
        """The drawing, as a figure of matplotlib: `plot().savefig("found.pdf")`."""
        return make_figure(self.draw, self.size)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {show_line(self.title)}>"

    def __str__(self) -> str:
        table = self._table(80)
        text = table.to_string(index=False, max_rows=ROWS, **CELLS) if len(table) else ""
        return "\n".join(filter(None, [show_line(self.title), text, *self.notes()]))

    def _repr_html_(self) -> str:
        table = self._table(400)  # a notebook breaks lines
        html = table.to_html(index=False, max_rows=ROWS, border=0, **CELLS) if len(table) else ""
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes())
        return f"<p><b>{escape(show_line(self.title))}</b></p>{html}{notes}"

    def _table(self, longest: int) -> "DataFrame":
        return self.overview().map(lambda cell: show_line(cell, longest) if isinstance(cell, str) else cell)
