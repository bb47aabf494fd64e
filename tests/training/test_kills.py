"""A training that was killed at any moment and gone on with is the one that was left alone."""

import json
import random
import shutil

import pytest

from tests.bits import equal
from tests.training import kills


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return folder and result of the training of a kind that was left alone, made once."""
    made = {}

    def of(name):
        if name not in made:
            folder = tmp_path_factory.mktemp("whole")
            status = kills.run(folder, kills.KINDS[name])
            assert status == 0, (folder / "said.txt").read_text()
            made[name] = folder, kills.result(folder, kills.KINDS[name])
        return made[name]

    return of


def is_the_same_after_a_kill(whole, name, folder, moment, late):
    """Kill a training at a moment, go on with it, and compare it with the one left alone."""
    kind, expected = kills.KINDS[name], whole(name)[1]
    assert kills.run(folder, kind, last=moment, late=late) == kills.KILLED
    status = kills.run(folder, kind, resume=(folder / "run").exists())
    said = (folder / "said.txt").read_text()
    assert status == 0, said
    found = kills.result(folder, kind)
    different = [
        part for part in expected | found if not equal(found.get(part), expected.get(part))
    ]
    assert different == [], said
    shutil.rmtree(folder)


STEP = "IterationSums.add"


def any_moment(rng, moments):
    return rng.randrange(len(moments))


def a_write(rng, moments):
    return rng.choice([k for k, moment in enumerate(moments) if moment != STEP])


def last_checkpoint(_rng, moments):
    """The moment at which it replaces an older one."""
    return max(k for k, moment in enumerate(moments) if moment.startswith("os.rename ckpt_"))


EVERY_DAY = [
    pytest.param(name, marks=[pytest.mark.slow] if kind.is_slow else [])
    for name, kind in kills.KINDS.items()
]


@pytest.mark.parametrize("name", EVERY_DAY)
def test_killed_behind_a_checkpoint_and_resumed_is_the_same(whole, tmp_path, name):
    """When two thirds of its steps are taken: a part of them is taken again."""
    moments = json.loads((whole(name)[0] / "moments.json").read_text())
    steps = [k for k, moment in enumerate(moments) if moment == STEP]
    moment = steps[2 * len(steps) // 3]
    is_the_same_after_a_kill(whole, name, tmp_path / "killed", moment, late=False)


DRAWN = [(name, when) for name in kills.KINDS for when in (any_moment, a_write)]
# Ten kills of each training in an environment of another package, with those above.
FOREIGN = [name for name in kills.KINDS if name.startswith("foreign")]
MORE = [(name, when) for name in FOREIGN for when in (any_moment, a_write) * 4]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "when"),
    [*DRAWN, *MORE, ("schedule", last_checkpoint), ("self-play", last_checkpoint)],
)
def test_killed_at_any_moment_and_resumed_is_the_same(whole, tmp_path, name, when):
    print("seed", seed := random.SystemRandom().randrange(10**6))
    rng = random.Random(seed)
    moments = json.loads((whole(name)[0] / "moments.json").read_text())
    moment, late = when(rng, moments), rng.random() < 0.5
    print("killed at", moment, moments[moment])
    late = late and when is not last_checkpoint
    is_the_same_after_a_kill(whole, name, tmp_path / "killed", moment, late)
