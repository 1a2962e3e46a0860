"""Loggers: every step once, the same bits with and without, and a failure that is reported and does no harm."""

import json

import pytest
from toy import Toy

from prunefield.core.errors import UsageError
from prunefield.engines import Outcome
from prunefield.engines.local import Local
from prunefield.lab.execution import carry_out, obtain
from prunefield.lab.journals import RunLog
from prunefield.lab.store import Store
from prunefield.loggers import Journal, Logger
from prunefield.loggers.tensorboard import Tensorboard
from prunefield.loggers.wandb import Wandb

RUN = Toy(seed=3)


class Lines(Logger):
    """A journal of lines, in place of a package that may be missing."""

    package = "json"

    def open(self, folder, run, settings):
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / run).open("w")
        return Journal(lambda step, numbers: print(json.dumps([step, numbers]), file=file, flush=True), file.close)

    def has(self, folder, run):
        return (folder / run).exists()


class Broken(Lines):
    """A logger whose disk is full."""

    def open(self, folder, run, settings):
        def write(step, numbers):
            raise OSError("no space left on device")

        return Journal(write, lambda: None)


def read_lines(root, run=RUN):
    return [json.loads(line) for line in (root / "logs" / Lines.kind() / run.folder).read_text().splitlines()]


def test_every_record_is_written_and_the_bits_are_the_same(tmp_path):
    plain = obtain(Store(tmp_path / "plain"), RUN)
    logged = obtain(Store(tmp_path / "logged"), RUN, log=Lines())
    assert logged.digest == plain.digest
    lines = read_lines(tmp_path / "logged")
    assert len(lines) == len(plain.records)
    assert [step for step, _ in lines] == sorted({step for step, _ in lines})


def test_a_run_that_was_stored_before_is_logged_once(tmp_path):
    store = Store(tmp_path)
    result = obtain(store, RUN)
    for _ in range(2):
        obtain(store, RUN, log=Lines())
        assert len(read_lines(tmp_path)) == len(result.records)


def test_a_run_that_is_resumed_has_every_step_once(tmp_path):
    """A journal reaches beyond the last safe point when a process is killed; the next one replaces it."""
    logger = Lines().place(tmp_path)
    values = [{"step": step, "loss": 1 / (1 + step)} for step in range(5)]
    RunLog(logger, RUN, values).close()  # it was at step 4 when it was killed
    resumed = RunLog(logger, RUN, values[:2])  # the safe point is after step 1
    for row in values[2:]:
        resumed.write(row)
    resumed.close()
    assert [step for step, _ in read_lines(tmp_path)] == [0, 1, 2, 3, 4]


class Here(Local):
    """An engine of this process, which knows the loggers of this file, but nothing of deferred values."""

    takes_deferred = False

    def map(self, work, items, hints=None):
        for index, item in enumerate(items):
            yield Outcome(index, work(item))


def test_a_logger_that_fails_does_no_harm(tmp_path):
    with pytest.warns(UserWarning, match=r"is not logged to .*; its result is not affected \(OSError: no space left"):
        result = obtain(Store(tmp_path / "logged"), RUN, log=Broken())
    assert result.digest == obtain(Store(tmp_path / "plain"), RUN).digest


def test_a_logger_that_fails_often_is_reported_once(tmp_path, monkeypatch):
    monkeypatch.setattr(Logger, "parse", lambda value: Broken.model_validate({"folder": tmp_path / "logs"}))
    lines = []
    assert carry_out(Store(tmp_path), [RUN, Toy(seed=4)], Here(), report=lines.append, log="broken") == {}
    assert len(lines) == 1
    assert lines[0].endswith("(and 1 more)")


@pytest.mark.parametrize("logger", [Tensorboard, Wandb])
def test_a_missing_package_is_one_line(logger, tmp_path, monkeypatch):
    monkeypatch.setattr("prunefield.loggers.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=f"needs the package {logger.package}; run: pip install"):
        carry_out(Store(tmp_path), [RUN], Local(jobs=1), log=logger.kind())
    assert not (tmp_path / "runs").exists()


@pytest.mark.long  # `make test-long` installs the package
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tensorboard_reads_the_events_back(tmp_path):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    store, others = Store(tmp_path), [RUN, Toy(seed=4, of=RUN)]
    assert carry_out(store, others, Local(jobs=2), log=f"tensorboard,folder={tmp_path / 'events'}") == {}
    for run in others:
        events = EventAccumulator(str(tmp_path / "events" / run.folder)).Reload()
        rows = store.folder(run).read_values()
        name = events.Tags()["scalars"][0]
        assert [event.value for event in events.Scalars(name)] == pytest.approx([row[name] for row in rows])
        assert "settings/text_summary" in events.Tags()["tensors"]


@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_wandb_writes_an_offline_run_for_each_run(tmp_path):
    store, others = Store(tmp_path), [RUN, Toy(seed=4, of=RUN)]
    assert carry_out(store, others, Local(jobs=1), log="wandb") == {}
    for run in others:
        (folder,) = (tmp_path / "logs" / "wandb" / "wandb").glob(f"offline-run-*-{run.folder}")
        (file,) = folder.glob("run-*.wandb")
        assert file.stat().st_size > 0
