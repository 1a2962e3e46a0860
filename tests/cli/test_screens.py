"""What a person sees: screens that fit, help that begins with what a verb does, completion, documented JSON."""

import json
import os
import re
import shlex
import subprocess
import sys
from argparse import Namespace
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from toy import Toy

from prunefield.cli import main
from prunefield.cli.documents import DOCUMENTS, VERSION, render_documents
from prunefield.cli.options import make_parser
from prunefield.cli.verbs.reproduce import print_end
from prunefield.core.names import list_based_on, modules, read_summary
from prunefield.core.terminal import find_width, show_table
from prunefield.lab.execution import obtain
from prunefield.lab.store import Store
from prunefield.report.ledger import find_items
from prunefield.report.screen import choose_highlights, show_ledger, show_summary
from prunefield.tasks import Task

pytestmark = pytest.mark.usefixtures("workers")

VERBS = modules("cli.verbs")
ROOT = Path(__file__).parent.parent.parent
NULL = {"status": "not reproduced", "observed": "0", "n": 1, "note": ""}


def make_claim(item="paper/fig1", status="reproduced", **changes):
    claim = {"item": item, "scale": "smoke", "text": "Fields are local " * 9, "where": "Fig. 1", "expected": "σ ≤ 2"}
    return claim | {"status": status, "observed": "σ = 1.5 " * 12, "n": 3, "note": "", "null": NULL} | changes


@pytest.mark.parametrize("verb", VERBS)
def test_help_begins_with_what_the_verb_does_and_has_examples(verb, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    module = import_module(VERBS[verb])
    text = make_parser(verb, module).format_help()
    assert " ".join(text.split()).startswith(read_summary("cli.verbs", verb))
    assert "\nexamples:\n" in text
    assert max(map(len, text.splitlines())) <= 80 or verb in ("completion", "data", "prune", "measure")  # long commands
    for example in module.EXAMPLES:
        command = re.sub(r"^eval \"\$\((.*)\)\"$", r"\1", example)
        first, *arguments = shlex.split(re.split(r"[|>]", command)[0])
        assert first == "prunefield"
        assert make_parser(arguments[0], import_module(VERBS[arguments[0]])).parse_args(arguments[1:])


@pytest.mark.parametrize(("columns", "width"), [("80", 80), ("5", 40), ("", None), ("x", None), ("0", None)])
def test_columns_are_obeyed(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", columns)
    assert find_width() == width


@pytest.mark.parametrize("columns", [44, 60, 80, 100, 159, 160])
def test_a_ledger_and_a_summary_fit_the_terminal(monkeypatch, capsys, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    claims = [make_claim(highlight=True), make_claim("other/fig2", "corrected", note="a note " * 30)]
    show_ledger(claims)
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= columns
    assert ("Ledger of claims" in shown) == (columns >= 160)
    show_summary(claims)
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= columns
    assert columns < 52 or shown.splitlines()[1].split() == ["paper", "1", "1", "0", "0", "0"]


def test_in_a_pipe_a_claim_is_one_line(monkeypatch, capsys):
    monkeypatch.delenv("COLUMNS", raising=False)
    show_ledger([make_claim(text="two\nlines"), make_claim()])
    head, first, *_ = capsys.readouterr().out.splitlines()
    assert head.count("\t") == first.count("\t") == 8
    assert "two lines" in first


def test_a_table_folds_what_does_not_fit(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "40")
    show_table(("name", "text"), [("a", "x" * 100)])
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 40
    assert shown.count("x") == 101
    monkeypatch.delenv("COLUMNS")
    show_table(("name", "text"), [("a", "x" * 100)])
    assert capsys.readouterr().out.splitlines()[1] == f"a     {'x' * 100}"


def test_highlights_are_decided_claims_one_of_each_paper_first():
    marked = [("a/1", "corrected"), ("a/2", "reproduced"), ("b/1", "not testable at this scale"), ("c/1", "reproduced")]
    claims = [make_claim(item, status, highlight=True) for item, status in marked] + [make_claim("d/1")]
    assert [claim["item"] for claim in choose_highlights(claims, 2)] == ["a/1", "c/1"]
    assert [claim["item"] for claim in choose_highlights(claims)] == ["a/1", "a/2", "c/1"]


def test_of_an_item_there_is_one_highlight_before_a_second_one():
    claims = [make_claim(item, highlight=True) for item in ("a/1", "a/1", "a/2", "c/1")]
    assert [claim["item"] for claim in choose_highlights(claims)] == ["a/1", "a/2", "c/1"]
    assert [claim["item"] for claim in choose_highlights(claims, 4)] == ["a/1", "a/1", "a/2", "c/1"]


@pytest.mark.parametrize("columns", [44, 80])
def test_two_highlights_of_an_item_can_be_told_apart(monkeypatch, capsys, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    texts = [f"{'Masks are local ' * 9}({data})" for data in ("leaves", "images")]
    show_summary([make_claim(text=text, highlight=True) for text in texts])
    shown = [line for line in capsys.readouterr().out.splitlines() if "paper/fig1: " in line]
    assert [line[line.index("… (") :] for line in shown] == ["… (leaves)", "… (images)"]
    assert max(map(len, shown)) <= columns


def test_the_end_of_a_ledger_fits_the_terminal(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("COLUMNS", "80")
    Store(tmp_path / "a store").create()
    assert main(["claims", "--store", str(tmp_path / "a store")]) == 0
    shown = capsys.readouterr().out.splitlines()
    assert " ".join(" ".join(shown).split()).endswith(f"run: prunefield reproduce --store '{tmp_path}/a store'")
    assert max(map(len, shown)) <= 80


def test_a_folded_table_of_runs_leaves_out_what_a_run_has_not(monkeypatch, capsys, store):
    for run in (Toy(), Toy(seed=1, steps=60, scale=2.0), Toy(seed=2, of=Toy())):
        obtain(store, run)
    assert main(["runs", "table", "--store", str(store.root)]) == 0
    assert "nan" in capsys.readouterr().out.lower()  # a pipe has all columns in every line
    monkeypatch.setenv("COLUMNS", "44")
    assert main(["runs", "table", "--store", str(store.root)]) == 0
    shown = capsys.readouterr().out
    assert not re.search(r": (nan|None|–)$", shown, re.MULTILINE)
    assert shown.count("  seed: ") == 3


def test_an_unknown_run_is_answered_with_the_command_that_lists_them(capsys, store):
    for seed in range(4):
        obtain(store, Toy(seed=seed))
    assert main(["runs", "remove", "xx", "--store", str(store.root)]) == 2
    said = capsys.readouterr().err
    assert f"(4 are allowed; `prunefield runs list --store {store.root}` shows them)" in said
    assert "toy-" not in said


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["repro"], "did you mean 'reproduce'?"),
        (["claims", "fg1"], "did you mean 'bar2023/fig1', 'lufkin2024/fig1' or 'redman2025/fig1'?"),
        (["claims", "lufkin"], "did you mean 'lufkin2024'?"),
        (["claims", "fig1"], "did you mean 'bar2023/fig1', 'lufkin2024/fig1' or 'redman2025/fig1'?"),
        (["list", "item"], "did you mean 'items'?"),
    ],
)
def test_a_mistake_gets_at_most_three_suggestions(capsys, tmp_path, monkeypatch, arguments, hint):
    monkeypatch.chdir(tmp_path)
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert hint in said
    assert len(said) < 300


@pytest.mark.parametrize("family", ["items", "papers", "networks"])
def test_families_are_listed(capsys, family):
    assert main(["list", family]) == 0
    shown = capsys.readouterr().out
    assert "lufkin2024/fig1" in shown if family != "networks" else "resnet20" in shown


COMPLETE = """
source /dev/stdin
COMP_WORDS=({words}); COMP_CWORD={place}; _prunefield; echo "${{COMPREPLY[@]}}"
"""


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("prunefield repro", "reproduce"),
        ("prunefield claims --scale ''", "smoke laptop night paper"),
        ("prunefield claims lufkin2024/fig1", "lufkin2024/fig1"),
        ("prunefield runs sh", "show"),
        ("prunefield data get cifar", "cifar10 cifar100"),
        ("prunefield data get chi", ""),
        ("prunefield data draw chi", "chi"),
        ("prunefield data draw is", "ising"),
    ],
)
def test_bash_completes(capsys, words, found):
    assert main(["completion", "bash"]) == 0
    script = capsys.readouterr().out
    command = COMPLETE.format(words=words, place=len(words.split()) - 1)
    answer = subprocess.run(["bash", "-c", command], input=script, capture_output=True, text=True, check=True)
    assert answer.stdout.split() == found.split()


def test_what_completion_offers_to_fetch_can_be_fetched():
    published = [name for name in modules("tasks") if Task.parse(name).provenance == "published"]
    assert list_based_on("tasks", "Published") == published


@pytest.mark.parametrize("command", [["completion", "zsh"], ["completion", "fish"], ["--help"], ["list", "items"]])
def test_what_a_shell_asks_for_needs_no_torch(command):
    code = (
        "import sys; from prunefield.cli import main; main(sys.argv[1:]); print({'torch', 'numpy'} & set(sys.modules))"
    )
    answer = subprocess.run([sys.executable, "-c", code, *command], capture_output=True, text=True, check=True)
    assert answer.stdout.splitlines()[-1] == "set()"


def test_every_json_document_has_a_version_and_only_described_keys(capsys, tmp_path, monkeypatch, store):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.toml").write_text('kind = "toy"\nsteps = 20\n')
    obtain(store, Toy(seed=1))
    place = ["--store", str(store.root)]
    commands = {
        "run or sweep": ["run", "study.toml", "--jobs", "1", *place],
        "reproduce, run or sweep with --dry-run": ["run", "study.toml", "--dry-run", *place],
        "runs list": ["runs", "list", *place],
        "runs table": ["runs", "table", *place],
        "runs show": ["runs", "show", "--all", *place],
        "runs verify": ["runs", "verify", *place],
        "runs remove": ["runs", "remove", "--all", *place],
        "list": ["list"],
        "data list": ["data", "list"],
        "data draw": ["data", "draw", "ising", "--train", "9", "--test", "9"],
        "claims": ["claims", "bar2023/lemma4.1", "--published"],
        "prune": ["prune", "lenet-300-100", "--density", "0.5", "--score", "magnitude"],
        "reproduce": ["reproduce", "bar2023/lemmaB.2", "--jobs", "1", "--store", str(tmp_path / "other")],
        "report": ["report", "bar2023/lemmaB.2", "--store", str(tmp_path / "other")],
    }
    for name, command in commands.items():
        assert main([*command, "--json"]) == 0, name
        document = json.loads(capsys.readouterr().out)
        assert document.pop("version") == VERSION
        known = DOCUMENTS[name]
        assert document.keys() <= known.keys(), name
        for key, rows in document.items():
            if f"{key}[]." in " ".join(known) and isinstance(rows, list):
                keys = {f"{key}[].{own}" for row in rows for own in row}
                assert keys <= known.keys(), (name, keys - known.keys())


def test_the_page_of_json_documents_is_made_from_the_code():
    assert (ROOT / "docs" / "json.md").read_text() == render_documents(), (
        "python -m prunefield.cli.documents > docs/json.md"
    )


def test_a_plan_has_the_dates_of_stored_runs_and_stars_only_estimates(capsys, tmp_path, store):
    (tmp_path / "study.toml").write_text('kind = "toy"\n')
    obtain(store, Toy())
    for path in store.folder(Toy()).path.iterdir():
        os.utime(path, (0, 0))  # as in a copy of a store: its files have other times
    assert main(["runs", "list", "--json", "--store", str(store.root)]) == 0
    listed = json.loads(capsys.readouterr().out)["runs"][0]["date"]
    assert not listed.startswith("1970")
    assert main(["run", str(tmp_path / "study.toml"), "--dry-run", "--store", str(store.root)]) == 0
    first, *_ = [line for line in capsys.readouterr().out.splitlines() if line.startswith("toy-")]
    assert listed in first
    assert "*" not in first


def test_a_plan_is_as_wide_as_the_terminal(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "60")
    lemmas = ["bar2023/lemma4.1", "bar2023/lemmaB.1"]
    (run, *_) = find_items(lemmas)[0].plan("smoke")
    obtain(Store(tmp_path / "store"), run)
    assert main(["reproduce", *lemmas, "--dry-run", "--store", str(tmp_path / "store")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("to do: " in line for line in lines)
    assert max(map(len, lines)) <= 60


def test_the_last_screen_names_a_few_unfinished_items(capsys, tmp_path):
    names = [f"p/fig{place}" for place in range(9)]
    found = SimpleNamespace(claims=[], entries={}, unfinished=names, show=lambda: None)
    print_end(Namespace(scale="smoke", store=tmp_path), cast(Any, found), None)
    assert capsys.readouterr().out.strip() == "9 items not finished: p/fig0, p/fig1, p/fig2 … and 6 more"


def test_runs_are_listed_with_what_tells_them_apart(capsys, store):
    for seed, scale in ((1, 1.0), (2, 3.0)):
        obtain(store, Toy(seed=seed, scale=scale))
    os.makedirs(store.root / "items" / "p")
    (store.root / "items" / "p" / "fig1-smoke.json").write_text(
        json.dumps({"item": "p/fig1", "scale": "smoke", "runs": [Toy(seed=1, scale=1.0).folder]})
    )
    (store.root / "items" / "p" / "broken-smoke.json").write_text("{")
    assert main(["runs", "list", "--json", "--store", str(store.root)]) == 0
    rows = {row["seed"]: row for row in json.loads(capsys.readouterr().out)["runs"]}
    assert rows[1]["varies"] == "scale=1"
    assert rows[1]["items"] == ["p/fig1"]
    assert rows[2]["items"] == []
    assert rows[1]["bytes"] > 100
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d", rows[1]["date"])


@pytest.mark.parametrize("columns", [44, 60, 100])
def test_a_narrow_list_of_runs_leaves_nothing_out(capsys, monkeypatch, store, columns):
    for seed in (1, 2):
        obtain(store, Toy(seed=seed, scale=float(seed)))
    assert main(["runs", "list", "--json", "--store", str(store.root)]) == 0
    rows = json.loads(capsys.readouterr().out)["runs"]
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["runs", "list", "--store", str(store.root)]) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= columns
    assert all(row[key] in shown for row in rows for key in ("run", "date", "varies", "status"))


@pytest.mark.parametrize("command", [["--help"], ["data", "list"], ["list", "tasks"]])
@pytest.mark.parametrize("columns", [44, 60, 100])
def test_lists_fit_the_terminal_and_break_between_words(capsys, monkeypatch, command, columns):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert main(command) == 0
    words = set(capsys.readouterr().out.split())
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= columns
    assert {word for word in shown.split() if not word.endswith(":")} <= words


@pytest.mark.parametrize(("verb", "names"), [("runs", "RUN"), ("data", "NAME")])
def test_a_missing_action_does_not_ask_for_names_too(capsys, verb, names):
    assert main([verb]) == 2
    said = capsys.readouterr().err
    assert "list|" in said
    assert names not in said.replace("prunefield", "")
