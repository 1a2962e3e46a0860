"""A store as a table, and what in it is not a run."""

import json

import pytest
from toy import Toy

from prunefield.cli import main
from prunefield.core.errors import StoreError, UsageError
from prunefield.lab.execution import obtain


def test_a_store_is_a_table(store, capsys):
    for run in (Toy(seed=1), Toy(seed=2, of=Toy(seed=1))):
        obtain(store, run)
    table = store.frame("toy")
    assert sorted(table["run"]) == store.names()
    assert table.set_index("seed")["of.seed"].to_dict()[2] == 1
    assert set(table["step"]) == {49}
    assert len(store.frame(records=True)) == 2 * 5
    assert repr(store) == f"<Store: {store.root}, 2 runs>"
    assert "<td>toy</td><td>done</td><td>2</td>" in store._repr_html_()
    with pytest.raises(UsageError, match="did you mean 'toy'"):
        store.frame("toi")
    out = ["--store", str(store.root)]
    assert main(["runs", "table", "--csv", "-", *out]) == 0
    assert capsys.readouterr().out == store.frame().to_csv(index=False)
    assert main(["runs", "table", "--kind", "toy", "--records", "--csv", str(store.root / "t.csv"), *out]) == 0
    assert (store.root / "t.csv").read_text() == store.frame(records=True).to_csv(index=False)
    capsys.readouterr()
    assert main(["runs", "table", Toy(seed=1).folder, "--json", *out]) == 0
    (row,) = json.loads(capsys.readouterr().out)["runs"]
    assert (row["seed"], row["fail_at"]) == (1, None)
    assert main(["runs", "table", *out]) == 0
    columns = capsys.readouterr().out.splitlines()[0].split()
    assert columns[:2] == ["run", "seed"]
    assert "steps" not in columns  # the same in both
    assert main(["runs", "table", "--csv", str(store.root), *out]) == 2
    assert "choose a file with --csv" in capsys.readouterr().err


def test_damage_is_reported_by_the_table_too(store):
    obtain(store, Toy())
    path = store.folder(Toy()).path / "records.json"
    path.write_text(path.read_text().replace("9", "8", 1))
    with pytest.raises(StoreError, match=r"records\.json was truncated or edited; run `prunefield runs remove"):
        store.frame()


def test_an_empty_store_is_an_empty_table(store):
    assert store.frame().empty


def test_foreign_folders_are_kept_and_named(store, capsys):
    obtain(store, Toy())
    foreign = [store.root / "runs" / name for name in ("notes", "toy-0123456789abcdef")]
    for path in foreign:
        path.mkdir()
        (path / "my-thesis.tex").write_text("…")
    killed = store.root / "runs" / "toy-fedcba9876543210"  # at its very beginning
    killed.mkdir()
    out = ["--store", str(store.root)]
    for option, removed in (("--unfinished", [killed.name]), ("--all", [Toy().folder])):
        assert main(["runs", "remove", option, *out]) == 0
        said = capsys.readouterr()
        assert said.out.splitlines() == [f"removed {name}" for name in removed]
        assert [f"kept {path}: it is not a run" in said.err for path in foreign] == [True, True]
    assert main(["runs", "remove", "notes", *out]) == 2
    assert "is not a run of prunefield; if you do not need it, delete it by hand" in capsys.readouterr().err
    assert all((path / "my-thesis.tex").exists() for path in foreign)
