"""What the summary of `reproduce` shows first."""

from prunefield.report.ledger import find_items
from prunefield.report.screen import choose_highlights


def test_every_paper_highlights_a_claim_that_smoke_scale_decides():
    """The summary of `reproduce` shows them: the demo has something to say about each paper of ours."""
    claims = [(item.kind(), claim) for item in find_items() for claim in item.claims]
    marked = {name.partition("/")[0] for name, claim in claims if claim.highlight and claim.decided_at == "smoke"}
    assert marked >= {"bar2023", "lufkin2024", "redman2025"}


def test_what_contradicts_a_paper_is_shown_first():
    def make(item, status):
        return {"item": item, "status": status, "highlight": True}

    claims = [
        make("a/1", "reproduced"),
        make("a/2", "not reproduced"),
        make("b/1", "corrected"),
        make("b/2", "reproduced"),
    ]
    assert choose_highlights(claims, 2) == claims[1:3]
    assert choose_highlights(claims, 3) == claims[:3]
    assert choose_highlights([make("a/1", "not testable at this scale")]) == []
