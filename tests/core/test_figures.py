"""What every figure has in common."""

import io
from typing import Any

import pytest

from prunefield.core.figures import PALETTE, make_figure


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


def test_lines_have_the_palette_however_the_figure_is_saved():
    figure = make_figure(lambda figure: figure.subplots().plot([[0, 1], [1, 2]]), (2.0, 2.0))
    figure.savefig(io.BytesIO())
    assert [line.get_color() for line in figure.axes[0].lines] == list(PALETTE[:2])
