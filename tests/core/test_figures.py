"""What every figure has in common."""

import io
from typing import Any

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from prunefield.core.figures import PALETTE, add_legend, fill_with_legend, letter_panels, make_figure


@pytest.mark.parametrize(
    ("span", "labels"),
    [((1e-4, 1e3), {"10⁻⁴", "0.01", "1", "100"}), ((0.05, 1.0), {"0.1", "1"}), ((1.2, 8.0), {"2", "3", "4", "6"})],
)
def test_a_logarithmic_axis_labels_no_more_ticks_than_have_room(span: tuple[float, float], labels: set[str]) -> None:
    def draw(figure: Any) -> None:
        figure.subplots().semilogx(span, (0, 1))

    figure = make_figure(draw, (4, 3))
    figure.canvas.draw()
    axes = figure.axes[0]
    first, last = axes.get_xlim()
    ticks = axes.get_xticklabels() + axes.get_xticklabels(minor=True)
    shown = {tick.get_text() for tick in ticks if first <= tick.get_position()[0] <= last} - {""}
    assert labels <= shown
    assert len(shown) <= 9


@pytest.mark.parametrize("width", [3.0, 10.0])
def test_all_text_is_readable_at_half_a_page(width: float) -> None:
    figure = make_figure(lambda figure: figure.subplots().set(xlabel="x", title="title"), (width, 3.0), "footer")
    sizes = [text.get_fontsize() * 640 / 72 / width for text in figure.findobj(Text) if text.get_text()]
    assert min(sizes) >= 8.99


def test_letters_of_panels_go_on_after_z():
    figure = make_figure(lambda figure: letter_panels(list(figure.subplots(1, 28))), (4, 3))
    assert [axes.get_title(loc="left") for axes in figure.axes[24:]] == ["Y", "Z", "AA", "AB"]


def test_a_legend_names_what_several_panels_share_once():
    figure = Figure()
    first, second, empty = figure.subplots(1, 3)
    for axes in (first, second):
        axes.plot([0, 1], label="both")
    second.plot([1, 0], label="one")
    add_legend(figure, (first, second), ncols=2)
    fill_with_legend(empty, (first, second))
    for legend in (*figure.legends, empty.get_legend()):
        assert [text.get_text() for text in legend.get_texts()] == ["both", "one"]


def test_lines_have_the_palette_however_the_figure_is_saved():
    figure = make_figure(lambda figure: figure.subplots().plot([[0, 1], [1, 2]]), (2.0, 2.0))
    figure.savefig(io.BytesIO())
    assert [line.get_color() for line in figure.axes[0].lines] == list(PALETTE[:2])
