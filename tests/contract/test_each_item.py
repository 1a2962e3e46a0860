"""What every item must do, present and future, shown at smoke scale."""

import json

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text

from prunefield.core.figures import encode_figure
from prunefield.core.names import modules, read_summary
from prunefield.papers import SCALES
from prunefield.report.ledger import find_items, load_paper, read_finding

KINDS = list(modules("papers"))
WIDEST = 11  # inches: lines of wider figures are thin at that width
LEGIBLE = 8 * 72 / 640  # points of text for each inch of a figure
SLACK = 0.03  # inches


@pytest.fixture(scope="module", params=KINDS)
def finding(request, smoke):
    (item,) = find_items([request.param])
    found = read_finding(smoke, item, "smoke")
    assert found is not None
    return found


def test_its_table_is_tidy(finding):
    assert len(finding.table) > 0
    assert finding.table.columns.is_unique
    assert not finding.table.isna().all().any()


def test_its_drawing_can_be_drawn_twice_alike(finding):
    figure = finding.draw()
    assert isinstance(figure, Figure)
    encoded = encode_figure(figure, "svg")
    assert encoded == encode_figure(finding.draw(), "svg")
    assert len(encoded) < 3_000_000


def test_its_drawing_can_be_read_at_half_a_page(finding):
    """Shown 640 pixels wide, no text is smaller than 8 pixels, and none is cut off by the edge."""
    figure = finding.draw()
    width = figure.get_size_inches()[0]
    assert width <= WIDEST
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    small = {text.get_text(): text.get_fontsize() for text in texts if text.get_fontsize() < LEGIBLE * width}
    assert not small
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    shown = figure.get_tightbbox(canvas.get_renderer())
    assert shown.x0 >= -SLACK
    assert shown.y0 >= -SLACK
    assert shown.x1 <= width + SLACK
    assert shown.y1 <= figure.get_size_inches()[1] + SLACK


def test_every_claim_has_a_verdict_with_numbers(finding):
    assert finding.rows
    for row in finding.rows:
        assert row.claim.text
        assert row.claim.where
        assert row.claim.expected
        assert any(letter.isdigit() for letter in row.verdict.observed), row.claim.text
        assert row.verdict.n > 0
        json.dumps(row.as_json(), allow_nan=False)


def test_no_claim_survives_its_null(finding):
    """The check that the effect passes must fail on data without the effect."""
    for row in finding.rows:
        assert row.null is not None, row.claim.text
        assert row.null.status in ("not reproduced", "not testable at this scale"), row.claim.text


def test_checks_are_pure(finding):
    before = finding.table.copy(deep=True)
    claims = [row.claim for row in finding.rows]
    assert [claim.check(finding.table) for claim in claims] == [claim.check(finding.table) for claim in claims]
    assert finding.table.equals(before)


@pytest.mark.parametrize("kind", KINDS)
def test_its_claims_hold_on_what_the_paper_says_and_fail_on_the_null(kind):
    """A check that cannot pass, or cannot fail, shows nothing, whatever a run finds."""
    (item,) = find_items([kind])
    ideal = item.ideal()
    for claim in item.claims:
        assert claim.check(ideal).status == "reproduced", (claim.text, claim.check(ideal))
        assert claim.null is not None
        assert claim.check(claim.null(ideal)).status == "not reproduced", (claim.text, claim.check(claim.null(ideal)))


def test_its_ideal_table_has_the_columns_of_a_real_one(finding):
    assert set(finding.item.ideal().columns) <= set(finding.table.columns)


@pytest.mark.parametrize("kind", KINDS)
def test_it_says_where_it_comes_from(kind):
    (item,) = find_items([kind])
    assert kind.partition("/")[0] in (type(item).__doc__ or "")
    assert item.title
    assert item.open_choices
    assert read_summary("papers", kind)


@pytest.mark.parametrize("kind", KINDS)
def test_it_has_every_scale(kind):
    (item,) = find_items([kind])
    assert all(item.plan(scale) for scale in SCALES)


@pytest.mark.parametrize("paper", sorted({kind.partition("/")[0] for kind in KINDS}))
def test_its_paper_can_be_cited(paper):
    module = load_paper(paper)
    assert module.TITLE in module.BIBTEX.replace("{", "").replace("}", "").replace("--", "–")
    assert paper in module.BIBTEX
