"""Plug-ins: names from places, ids from settings, errors that teach."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from toy import Toy

from prunefield.core.errors import UsageError
from prunefield.runs import Run

SETTINGS = {"kind": "toy", "seed": 3, "steps": 7, "scale": 2.0, "of": {"kind": "toy", "seed": 1}}


def test_settings_survive_json():
    run = Run.parse(SETTINGS)
    again = Run.parse(json.loads(json.dumps(run.settings())))
    assert again == run
    assert again.id == run.id
    assert run.settings()["of"]["kind"] == "toy"


@given(st.permutations(list(SETTINGS)))
def test_the_order_of_keys_does_not_matter(keys):
    assert Run.parse({key: SETTINGS[key] for key in keys}).id == Run.parse(SETTINGS).id


def test_every_setting_changes_the_id():
    changed = {"seed": 4, "steps": 8, "scale": 2.5, "pause": 0.1, "fail_at": 1, "die_at": 1, "of": None, "gate": "x"}
    assert set(changed) == set(Toy.model_fields)
    ids = {Run.parse({**SETTINGS, key: value}).id for key, value in changed.items()}
    assert len(ids | {Run.parse(SETTINGS).id}) == len(changed) + 1


def test_a_nested_setting_changes_the_id():
    assert Run.parse({**SETTINGS, "of": {"kind": "toy", "seed": 2}}).id != Run.parse(SETTINGS).id


def test_numbers_that_are_equal_have_one_id():
    assert Run.parse({**SETTINGS, "scale": 2}).id == Run.parse(SETTINGS).id


def test_a_new_version_has_a_new_id(monkeypatch):
    before = Toy().settings()
    monkeypatch.setattr(Toy, "version", 2)
    assert Toy().settings()["kind"] == "toy@2"
    with pytest.raises(UsageError, match="another version of prunefield"):
        Run.parse({**before, "kind": "toy@1"})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("toi", "unknown run 'toi'; did you mean 'toy'?"),
        ({"kind": "toy", "sed": 1}, "toy: unknown key 'sed'; did you mean 'seed'?"),
        ({"kind": "toy", "steps": "many"}, "toy: steps: input should be a valid integer"),
        ({"kind": "toy", "steps": 0}, "greater than or equal to 1"),
        ({"kind": "toy", "of": {"kind": "toy", "steps": -1}}, "toy: of: toy: steps: input should be greater"),
        ({"kind": "toy", "scale": float("nan")}, "finite"),
        ({"seed": 1}, "the key 'kind'"),
        (7, "the key 'kind'"),
    ],
)
def test_bad_settings_get_one_line(settings, message):
    with pytest.raises(UsageError) as caught:
        Run.parse(settings)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_settings_are_frozen():
    with pytest.raises(ValueError, match="frozen"):
        Toy().seed = 1


def test_a_wrong_key_of_an_inner_model_is_compared_with_its_own_keys():
    net = {"kind": "lenet", "width": 3}
    with pytest.raises(UsageError, match=r"recipe: unknown key 'epoch'; did you mean 'epochs'\?"):
        Run.parse({"kind": "pruned", "task": "leaves", "net": net, "score": "random", "recipe": {"epoch": 2}})
