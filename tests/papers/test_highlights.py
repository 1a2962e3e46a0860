"""What the summary of `reproduce` shows first."""

from prunefield.report.ledger import find_items


def test_every_paper_highlights_a_claim_that_smoke_scale_decides():
    """The summary of `reproduce` shows them: the demo has something to say about each paper of ours."""
    marked = [(item.kind(), claim) for item in find_items() for claim in item.claims if claim.highlight]
    assert {name.partition("/")[0] for name, _ in marked} >= {"bar2023", "lufkin2024", "redman2025"}
    assert all(claim.decided_at == "smoke" for _, claim in marked)
