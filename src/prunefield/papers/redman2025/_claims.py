"""Claims that are checked separately on each data set.

Claims about trained networks are decided from laptop scale on (`decided_at`): two seeds of 64 units, trained for 800
steps on small leaves or on crops of two photographs, are not enough to decide them either way.
"""

from dataclasses import replace

from prunefield.papers import Claim, Verdict
from prunefield.papers._rows import rows
from prunefield.papers.redman2025._nets import DATA


def on_each(*claims: Claim) -> tuple[Claim, ...]:
    """Every claim once for each data set; its check and its null see only the rows of that data set."""
    return tuple(_on(claim, data) for data in DATA for claim in claims)


def _on(claim: Claim, data: str) -> Claim:
    null = claim.null
    return replace(
        claim,
        text=f"{claim.text} ({data})",
        check=lambda table: claim.check(rows(table, data=data)),
        null=None if null is None else lambda table: null(rows(table, data=data)),
    )


def judge(good: bool, observed: str, n: int, note: str = "") -> Verdict:
    """`reproduced` or `not reproduced`."""
    return Verdict("reproduced" if good else "not reproduced", observed, int(n), note)
