"""`reproduce` from Python: the ledger, tables and figures of items, and the same from what is stored."""

import sys
from pathlib import Path
from types import ModuleType

import pytest

import prunefield as pf
from prunefield.core.errors import UsageError
from prunefield.core.figures import encode_figure
from prunefield.report.reproduction import plan_items, read_ledger

pytestmark = pytest.mark.usefixtures("workers")

ITEMS = ["bar2023/lemma4.1", "bar2023/lemmaB.1"]


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return pf.reproduce(ITEMS, store=tmp_path_factory.mktemp("front"), jobs=1, progress=False)


def test_a_reproduction_has_one_row_per_claim(found):
    table = found.frame()
    assert len(table) == len(found.claims) > 2
    assert set(table["item"]) == set(ITEMS)
    assert {"text", "expected", "observed", "status", "null", "n"} <= set(table)
    assert found.failures == {}
    assert found.unfinished == []
    assert repr(found).startswith(f"<Reproduction: {len(table)} claims: ")
    assert "<table" in found._repr_html_()


def test_it_is_shown_as_the_ledger(found, capsys):
    found.show()
    shown = capsys.readouterr().out
    assert shown.count("\n") == len(found.claims) + 2  # one line for each, with a head and the counts
    assert shown.splitlines()[-1] == found.title


def test_a_notebook_shows_the_figures_too(found, monkeypatch, capsys):
    shown, figures, notebook = [], list(found.figures.values()), ModuleType("IPython.display")
    monkeypatch.setattr(notebook, "display", shown.append, raising=False)
    for name, module in (("ipykernel", notebook), ("IPython", notebook), ("IPython.display", notebook)):
        monkeypatch.setitem(sys.modules, name, module)
    found.show()
    assert capsys.readouterr().out
    assert shown == figures


def test_it_has_tables_and_figures(found):
    assert list(found.tables) == list(found.figures) == ITEMS
    assert len(found.tables[ITEMS[0]]) > 0
    assert encode_figure(found.plot(), "png")  # the verdicts on both
    assert encode_figure(found.plot(ITEMS[1]), "svg") == encode_figure(found.figures[ITEMS[1]], "svg")
    assert all(Path(file).stat().st_size for entry in found.entries.values() for file in entry["files"])
    with pytest.raises(UsageError, match=r"did you mean 'bar2023/lemma4\.1'"):
        found.plot("bar2023/lemma4.2")


def test_what_is_stored_says_the_same(found):
    again = read_ledger("bar2023", store=found.store)
    assert [claim for claim in again.claims if claim["item"] in ITEMS] == found.claims
    assert set(again.unfinished).isdisjoint(ITEMS)
    assert "bar2023/fig1" in again.unfinished
    alone = read_ledger(ITEMS[0], store=found.store)
    assert encode_figure(alone.plot(), "svg") == encode_figure(found.plot(ITEMS[0]), "svg")


def test_nothing_is_repeated(found):
    assert plan_items(ITEMS, store=found.store).core_hours == 0
    before = {folder.name: folder.table("made") for folder in found.store}
    again = pf.reproduce(ITEMS[0], store=found.store, jobs=1, progress=False)
    assert [claim for claim in found.claims if claim["item"] == ITEMS[0]] == again.claims
    assert {folder.name: folder.table("made") for folder in found.store} == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"names": "lufkn2024"}, "did you mean 'lufkin2024'"),
        ({"names": ITEMS, "scale": "smok"}, "did you mean 'smoke'"),
        ({"names": ITEMS, "jobs": 0}, "greater than or equal to 1"),
        ({"names": ITEMS, "device": "gpu"}, "no device 'gpu' here"),
    ],
)
def test_a_mistake_gets_one_line_and_makes_no_store(arguments, message, tmp_path):
    with pytest.raises(UsageError, match=message):
        pf.reproduce(**arguments, store=tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_an_unfinished_item_has_nothing_to_plot(store):
    found = read_ledger(ITEMS, store=store)
    assert found.unfinished == ITEMS
    assert found.frame().empty
    with pytest.raises(UsageError, match="no item is finished"):
        found.plot()


def test_an_empty_ledger_is_one_line_and_no_empty_table(tmp_path, capsys):
    empty = read_ledger(ITEMS[0], store=pf.Store(tmp_path / "store"))
    empty.show()
    assert capsys.readouterr().out == "no claims\n"
    assert repr(empty) == "<Reproduction: no claims>"
