"""Lists of runs for people: only what varies, and no line that is padded to the longest text of another."""

from prunefield.cli.run_tables import VARIES, show_run_table
from prunefield.lab.listing import distinguish_settings
from prunefield.runs.imp import Imp
from prunefield.runs.neuron import Neuron
from prunefield.tasks.kur import Kur
from prunefield.tasks.leaves import Leaves
from prunefield.tasks.nlgp import Nlgp
from prunefield.tasks.photos import Photos


def list_varying(*runs):
    return [row["varies"] for row in distinguish_settings([run.settings() for run in runs])]


def test_settings_that_belong_to_a_task_are_not_listed_where_all_runs_on_it_agree():
    assert list_varying(Imp(task=Leaves(side=16)), Imp(task=Photos(side=16))) == ["task=leaves", "task=photos"]


def test_settings_that_vary_among_runs_on_one_task_are_listed_for_these():
    found = list_varying(Neuron(task=Nlgp(g=1.0)), Neuron(task=Nlgp(g=3.0)), Neuron(task=Kur()))
    assert found == ["task=nlgp, task.g=1", "task=nlgp, task.g=3", "task=kur"]


def test_a_setting_that_some_runs_do_not_write_down_varies():
    found = list_varying(Neuron(task=Nlgp()), Neuron(task=Nlgp(), symmetric=True), Neuron(task=Nlgp(), stream=1))
    assert len(set(found)) == 3
    assert found[1] == "symmetric=True"


def test_in_a_pipe_a_long_text_does_not_widen_the_other_lines(capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    show_run_table(("run", VARIES, "size"), [("imp-1", "a" * 500, "1 kB"), ("imp-2", "b", "2 kB")])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split("  ")[-1] == VARIES
    assert lines[2] == "imp-2  2 kB  b"
