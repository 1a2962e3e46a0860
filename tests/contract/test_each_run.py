"""What every run must do, present and future."""

import json

import pytest

from prunefield.core.names import modules
from prunefield.core.plugin import find_class
from prunefield.lab.execution import order_runs
from prunefield.report.ledger import find_items
from prunefield.runs import Run

BUILT_IN = [kind for kind, module in modules("runs").items() if module.startswith("prunefield.")]
USED = {run.kind(): run for item in find_items() for run in order_runs(item.runs("smoke"))}


@pytest.mark.parametrize("kind", BUILT_IN)
class TestRun:
    def test_is_used_by_an_item(self, kind):
        """A run that no item uses is checked by nobody."""
        assert kind in USED

    def test_survives_json(self, kind):
        run = USED[kind]
        again = Run.parse(json.loads(json.dumps(run.settings())))
        assert again == run
        assert again.folder == run.folder

    def test_says_where_it_comes_from(self, kind):
        cls = find_class(Run, kind)
        assert cls.__doc__
        assert any(item.partition("/")[0] in cls.__doc__ for item in modules("papers"))

    def test_estimates_its_time(self, kind):
        runs = [
            run
            for item in find_items()
            for scale in item.scales
            for run in order_runs(item.runs(scale))
            if run.kind() == kind
        ]
        assert all(0 < run.seconds() < 1e8 for run in runs)
