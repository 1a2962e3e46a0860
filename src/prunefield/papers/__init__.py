"""Items: each figure, table or theorem of a paper is one file, with the claims that it makes.

An item names its runs, turns what they recorded into one table, draws it, and states claims that the table must
satisfy. Checking is a pure function of the table; nothing here computes for long.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from prunefield.plugin import Plugin
from prunefield.runs import Result, Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

Scale = Literal["smoke", "laptop", "paper"]
SCALES: tuple[Scale, ...] = get_args(Scale)
Status = Literal["reproduced", "not reproduced", "corrected", "not testable at this scale"]


@dataclass(frozen=True)
class Verdict:
    """What a check found: `observed`, to compare with what the paper says, and the number of values it rests on."""

    status: Status
    observed: str
    n: int
    note: str = ""


@dataclass(frozen=True)
class Claim:
    """A statement of the paper that a table can contradict.

    `null` turns the table into one without the effect (random masks, a Gaussian, shuffled labels); the same check must
    fail on it, or it proves nothing. `decided_at` is the smallest scale whose settings can decide the claim; below it
    the verdict is `not testable at this scale`, with the value that was observed.
    """

    text: str
    where: str
    expected: str
    check: "Callable[[DataFrame], Verdict]"
    null: "Callable[[DataFrame], DataFrame] | None" = field(default=None)
    decided_at: Scale = "smoke"

    def judge(self, table: "DataFrame", scale: Scale) -> Verdict:
        """The verdict on a table made at a scale."""
        verdict = self.check(table)
        if SCALES.index(scale) >= SCALES.index(self.decided_at):
            return verdict
        note = f"decided from {self.decided_at} scale on" + (f"; {verdict.note}" if verdict.note else "")
        return replace(verdict, status="not testable at this scale", note=note)

    def judge_null(self, table: "DataFrame") -> Verdict | None:
        """The verdict of the same check on the table without the effect."""
        return None if self.null is None else self.check(self.null(table))


class Item(Plugin):
    """One figure, table or theorem."""

    family: ClassVar[str] = "papers"
    title: ClassVar[str]
    open_choices: ClassVar[tuple[str, ...]] = ()  # what the paper leaves open and what was chosen, one line each
    claims: ClassVar[tuple[Claim, ...]]

    @abstractmethod
    def runs(self, scale: Scale) -> list[Run]:
        """What must be computed; runs that these depend on are found automatically."""

    @abstractmethod
    def table(self, results: Mapping[Run, Result]) -> "DataFrame":
        """One tidy table from the finished runs of `runs(scale)`."""

    @abstractmethod
    def ideal(self) -> "DataFrame":
        """A table of the same columns that says what the paper says: every claim holds on it, and fails on its null."""

    @abstractmethod
    def draw(self, table: "DataFrame", results: Mapping[Run, Result]) -> "Figure":
        """The figure. `results` is for pictures (weights, masks) that do not fit into a table."""
