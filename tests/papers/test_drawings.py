"""Rules of single drawings: what tables say of what is missing, which masks are shown, drawings without tensors."""

import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text
from pandas import DataFrame

from prunefield.lab.store import Store
from prunefield.papers._kit import NOT_SHIPPED
from prunefield.papers.bar2023._table_pictures import draw_differences
from prunefield.papers.redman2025.figS2 import choose_mask
from prunefield.report.ledger import find_items
from prunefield.report.publishing import read_with_kept


def test_differences_say_what_is_missing_and_label_ticks_on_both_sides_of_ten():
    cell = {"data": "leaves", "net": "net", "density": 0.05}
    found = DataFrame([cell | {"gap": 3.0}, cell | {"gap": -12.0}])
    axes = Figure().subplots()
    draw_differences(axes, ["both", "printed", "ours"], [[1.0, 25.0], [0.5], []], [found, found[:0], found])
    assert {text.get_text(): round(text.get_position()[1]) for text in axes.texts} == {
        "not run": 1,
        "not in the paper": 2,
    }
    labels = [tick.get_text() for tick in axes.get_xticklabels()]
    assert {"−10", "−5", "−2", "0", "2", "5", "20"} <= set(labels)
    assert axes.get_xlim()[0] < -12
    assert axes.get_xlim()[1] > 25


def test_masks_of_different_components_are_shown_while_there_are_any():
    masks = DataFrame({"cosine": [0.10, 0.21, 0.20, 0.40], "component": [5, 7, 7, 9]})
    shown: list[int] = []
    for _ in range(4):
        shown.append(masks["component"].tolist()[choose_mask(masks, shown)])
    assert shown == [7, 5, 9, 7]


@pytest.mark.parametrize("name", ["redman2025/fig3", "redman2025/hypothesis", "bar2023/fig2"])
def test_a_drawing_of_kept_values_says_once_for_each_part_which_tensors_it_lacks(name, tmp_path):
    (item,) = find_items([name])
    finding = read_with_kept(Store(tmp_path / "store"), item, "night")
    assert finding is not None
    assert finding.kept == len(finding.results)
    figure = finding.draw()
    words = [text for text in figure.findobj(Text) if NOT_SHIPPED in text.get_text()]
    parts = finding.table["data"].nunique() if name == "redman2025/hypothesis" else 1
    assert len(words) == parts
