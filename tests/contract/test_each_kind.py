"""What every kind of every family must be: found, named, listed and in the help."""

import contextlib
import re

import pytest

from prunefield.cli import main
from prunefield.core.names import FAMILIES, modules, read_summary
from prunefield.core.plugin import find_class
from prunefield.engines import Engine
from prunefield.loggers import Logger
from prunefield.networks import Network
from prunefield.papers import Item
from prunefield.runs import Run
from prunefield.scores import Score
from prunefield.tasks import Task

ROOTS = {root.family: root for root in (Task, Network, Score, Run, Engine, Logger, Item)}
KINDS = [(family, kind) for family in FAMILIES for kind in modules(family)]


def test_every_family_has_a_root():
    assert set(ROOTS) == set(FAMILIES)


@pytest.mark.parametrize(("family", "kind"), KINDS)
class TestKind:
    def test_its_class_is_named_like_its_file(self, family, kind):
        cls = find_class(ROOTS[family], kind)
        assert cls.kind() == kind
        assert re.sub(r"[^a-z0-9]", "", kind.rpartition("/")[2].lower()) == cls.__name__.lower().replace("_", "")

    def test_every_setting_says_what_it_is(self, family, kind):
        fields = find_class(ROOTS[family], kind).model_fields
        if modules(family)[kind].startswith("prunefield."):
            assert [name for name, field in fields.items() if not field.description] == []

    def test_it_has_a_summary(self, family, kind):
        assert 0 < len(read_summary(family, kind)) <= 120

    @pytest.mark.parametrize("command", [["list"], ["list", "--help"]])
    def test_it_is_listed_and_in_the_help(self, family, kind, command, capsys):
        with contextlib.suppress(SystemExit):  # argparse leaves after its help
            assert main(command) == 0
        text = capsys.readouterr().out
        assert re.search(rf"(?<![\w-]){re.escape(kind)}(?![\w-])", text)
