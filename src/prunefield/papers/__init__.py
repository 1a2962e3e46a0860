"""Items: each figure, table or theorem of a paper is one file, with the claims that it makes.

An item names its runs, turns what they recorded into one table, draws it, and states claims that the table must
satisfy. Checking is a pure function of the table; nothing here computes for long. A folder is a paper; its
`__init__.py` has TITLE and BIBTEX.
"""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal, get_args

from matplotlib.figure import Figure
from pydantic import ConfigDict

from prunefield.core.plugin import Plugin
from prunefield.papers._kit import Frame, gather, numbers, replace_rows, rows
from prunefield.runs import Result, Run

__all__ = [
    "OPEN", "SCALES", "Claim", "Frame", "Item", "Scale", "Verdict",
    "claim", "gather", "judge", "numbers", "replace_rows", "rows",
]  # fmt: skip

Scale = Literal["smoke", "laptop", "night", "paper"]
SCALES: tuple[Scale, ...] = get_args(Scale)
Status = Literal["reproduced", "not reproduced", "corrected", "not testable at this scale"]
OPEN: Status = "not testable at this scale"
Check = Callable[..., "Verdict"]
Null = Callable[[Frame], Frame]


@dataclass(frozen=True)
class Verdict:
    """What a check found: `observed`, to compare with what the paper says, and the number of values it rests on."""

    status: Status
    observed: str
    n: int
    note: str = ""


def judge(good: Any, observed: str, n: Any, note: str = "", *, corrected: Any = False) -> Verdict:
    """`reproduced` if the statement holds, else `corrected` if the right statement in the note does.

    >>> judge(False, "2.5", 10, "the printed 2 must be 2.5", corrected=True).status
    'corrected'
    """
    return Verdict("reproduced" if good else "corrected" if corrected else "not reproduced", observed, int(n), note)


@dataclass(frozen=True)
class Claim:
    """A statement of the paper that a table can contradict.

    `null` turns the table into one without the effect (random masks, a Gaussian, shuffled labels); the same check must
    fail on it, or it proves nothing. `decided_at` is the smallest scale whose settings can decide the claim; below it
    the verdict is `not testable at this scale`, with the value that was observed. `needs` are values of columns: a
    table without such rows has nothing to say about the claim, which is then left out. `highlight` marks a claim that a
    newcomer should see first, whatever its verdict.
    """

    text: str
    where: str
    expected: str
    check: Check
    null: Null | None = None
    decided_at: Scale = "smoke"
    needs: Mapping[str, object] = field(default_factory=dict)
    highlight: bool = False

    def concerns(self, table: Frame) -> bool:
        """Whether the table has the rows that the claim is about: not every data set is used at every scale."""
        return not self.needs or not rows(table, **self.needs).empty

    def judge(self, table: Frame, scale: Scale) -> Verdict:
        """The verdict on a table made at a scale."""
        verdict = self.check(table)
        if SCALES.index(scale) >= SCALES.index(self.decided_at):
            return verdict
        note = f"decided from {self.decided_at} scale on" + (f"; {verdict.note}" if verdict.note else "")
        return replace(verdict, status=OPEN, note=note)

    def judge_null(self, table: Frame) -> Verdict | None:
        """The verdict of the same check on the table without the effect."""
        return None if self.null is None else self.check(self.null(table))


class Claims(tuple[Claim, ...]):
    """The claims that share a check, in the body of an item."""


def claim(
    text: str,
    *,
    at: str,
    expect: str,
    null: Null,
    decided_at: Scale = "smoke",
    needs: Mapping[str, object] | None = None,
    each: Sequence[Mapping[str, Any]] = (),
    per: Mapping[str, Sequence[str]] | None = None,
    highlight: bool = False,
) -> Callable[[Check], Claims]:
    """Turns the check `(table) -> Verdict` below it, in the body of an item, into a claim.

    `each` makes one claim per case: the case fills the braces in `text`, `at` and `expect`, and the check takes it as
    arguments; its keys `null`, `decided_at` and `needs` replace those of the claim. `per={"data": names}` makes one
    claim per data set, with the name in parentheses: its check and its null see only the rows of that data set. Where a
    table has none, or none with the values in `needs`, there is no such claim.

    >>> import pandas
    >>> @claim("{name} is local", at="Fig. 1", expect="σ ≤ 2", null=lambda table: 9 * table, each=[{"name": "IMP"}])
    ... def check(table, name):
    ...     return judge(table["σ"].max() <= 2, f"σ = {table['σ'].max()}", len(table))
    >>> check[0].text, check[0].judge(pandas.DataFrame({"σ": [1]}), "smoke").status
    ('IMP is local', 'reproduced')
    """

    def collect(check: Check) -> Claims:
        found = []
        for case in each or ({},):
            own = {"null": null, "decided_at": decided_at, "needs": needs or {}}
            own |= {key: value for key, value in case.items() if key in own}
            words = {key: value for key, value in case.items() if key not in own}
            texts = [part.format(**words) if words else part for part in (text, at, expect)]
            bound = partial(check, **words) if words else check
            found.append(Claim(texts[0], texts[1], texts[2], bound, highlight=highlight, **own))
        ((column, names),) = per.items() if per else ((None, ()),)
        return Claims(_restrict(one, column, name) for one in found for name in names) if column else Claims(found)

    return collect


def _restrict(claim: Claim, column: str, name: str) -> Claim:
    """The claim about the rows with this name in a column."""
    null = claim.null
    return replace(
        claim,
        text=f"{claim.text} ({name})",
        needs={**claim.needs, column: name},
        check=lambda table: claim.check(rows(table, **{column: name})),
        null=None if null is None else lambda table: null(rows(table, **{column: name})),
    )


class Item(Plugin):
    """One figure, table or theorem."""

    model_config = ConfigDict(ignored_types=(Claims,))
    family: ClassVar[str] = "papers"
    title: ClassVar[str]
    size: ClassVar[tuple[float, float]] = (7.0, 5.0)  # of the figure, in inches
    open_choices: ClassVar[tuple[str, ...]] = ()  # what the paper leaves open and what was chosen, one line each
    scales: ClassVar[tuple[Scale, ...]] = ("smoke", "laptop", "paper")  # at which it has settings of its own
    from_values: ClassVar[bool] = False  # kept values of runs are enough to judge and to draw it: it needs no tensors
    claims: ClassVar[tuple[Claim, ...]]

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        stated = tuple(one for value in vars(cls).values() if isinstance(value, Claims) for one in value)
        if stated:
            cls.claims = stated

    @abstractmethod
    def runs(self, scale: Scale) -> list[Run]:
        """What must be computed, at one of its `scales`; runs that these depend on are found automatically."""

    def own_scale(self, scale: Scale) -> Scale:
        """The largest of its own scales that is not above this one."""
        below: list[Scale] = [own for own in self.scales if SCALES.index(own) <= SCALES.index(scale)]
        return below[-1]

    def plan(self, scale: Scale) -> list[Run]:
        """The runs at any scale: those of its own scale."""
        return self.runs(self.own_scale(scale))

    def choose_runs(self, planned: Sequence[Run], done: Sequence[Run], scale: Scale) -> Sequence[Run] | None:
        """The finished runs by which it is judged; None if they are too few. By default all that are planned."""
        return done if len(done) == len(planned) else None

    @abstractmethod
    def table(self, results: Mapping[Run, Result]) -> Frame:
        """One tidy table from the finished runs of `runs(scale)`."""

    @abstractmethod
    def ideal(self) -> Frame:
        """A table of the same columns that says what the paper says: every claim holds on it, and fails on its null."""

    @abstractmethod
    def draw(self, figure: Figure, table: Frame, results: Mapping[Run, Result]) -> None:
        """Draws into an empty figure of `size`. `results` is for pictures that fit into no table."""
