"""What every task must do, present and future."""

import json
import math

import pytest
import torch

from prunefield.core.errors import UsageError
from prunefield.core.names import modules, read_summary
from prunefield.core.plugin import find_class
from prunefield.tasks import Task

KINDS = list(modules("tasks"))
pytestmark = pytest.mark.usefixtures("datasets")


def sample(kind, n, seed=0):
    return Task.parse(kind).sample(n, generator=torch.Generator().manual_seed(seed))


def are_equal(first, second):
    return torch.equal(first.x, second.x) and torch.equal(first.y, second.y)


@pytest.mark.parametrize("kind", KINDS)
class TestTask:
    def test_gives_rows_of_its_shape_and_labels_of_its_classes(self, kind):
        task = Task.parse(kind)
        n = max(300, 12 * task.classes)  # enough that every class occurs
        batch = sample(kind, n)
        assert batch.x.shape == (n, math.prod(task.shape))
        assert batch.x.is_floating_point()
        assert batch.x.isfinite().all()
        assert batch.y.shape == (n,)
        assert batch.y.dtype == torch.int64
        assert set(batch.y.unique().tolist()) == set(range(task.classes))

    @pytest.mark.parametrize("n", [-5, 2.5, "3", None])
    def test_refuses_a_number_of_examples_that_is_none(self, kind, n):
        task = Task.parse(kind)
        for draw in (task.sample, task.held_out):
            with pytest.raises(UsageError, match="number of examples must be a whole number"):
                draw(n, generator=torch.Generator())

    def test_is_determined_by_its_generator(self, kind):
        first, second, other = sample(kind, 20), sample(kind, 20), sample(kind, 20, seed=1)
        assert are_equal(first, second)
        assert not are_equal(first, other)

    def test_is_a_stream(self, kind):
        """Two draws in a row are fresh examples, not the same ones again."""
        task, stream = Task.parse(kind), torch.Generator().manual_seed(0)
        assert not are_equal(task.sample(20, generator=stream), task.sample(20, generator=stream))

    def test_seeds_nothing_globally(self, kind):
        before = torch.random.get_rng_state()
        sample(kind, 5)
        assert torch.equal(before, torch.random.get_rng_state())

    def test_labels_are_balanced(self, kind):
        """Uniform labels: each class within five standard deviations of its share."""
        task, n = Task.parse(kind), 3000
        share = 1 / task.classes
        counts = sample(kind, n).y.bincount(minlength=task.classes)
        assert (counts - n * share).abs().max() < 5 * math.sqrt(n * share * (1 - share))

    def test_held_out_examples_are_like_the_others(self, kind):
        task = Task.parse(kind)
        batch = task.held_out(6, generator=torch.Generator().manual_seed(0))
        assert batch.x.shape == (6, math.prod(task.shape))
        assert batch.x.dtype == sample(kind, 1).x.dtype
        assert batch.y.shape == (6,)
        assert 0 <= batch.y.min() <= batch.y.max() < task.classes

    def test_survives_json(self, kind):
        task = Task.parse(kind)
        assert Task.parse(json.loads(json.dumps(task.settings()))) == task

    def test_says_what_it_is(self, kind):
        cls = find_class(Task, kind)
        assert cls.__doc__
        assert any(item.partition("/")[0] in cls.__doc__ for item in modules("papers"))
        assert read_summary("tasks", kind)
