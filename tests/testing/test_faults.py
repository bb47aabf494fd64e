"""What ``compare`` and ``check`` find, and what they do not."""

from __future__ import annotations

import contextlib
import io
import time
from functools import partial

import numpy as np
import pytest

from fastenv.errors import ConfigError
from fastenv.testing import assert_correct, assert_same, check, compare, replay
from fastenv.testing.factories import Source
from fastenv.testing.hunt import Hunt
from fastenv.testing.jobs import Job
from fastenv.testing.laws import Laws
from fastenv.testing.search import Search
from fastenv.testing.sync import RECIPES, as_sync
from fastenv.testing.tracks import make_track
from tests.slow import late
from tests.tables import walk
from tests.testing import faulty, odd
from tests.testing.games.bluff import Bluff
from tests.testing.games.drop import Drop, DropVector
from tests.testing.games.ferry import Ferry
from tests.testing.games.piles import Piles
from tests.testing.twins import bluff_twin

GAMES = {"ferry.py": Ferry, "piles.py": Piles, "drop.py": Drop, "bluff.py": Bluff}
FAULTS = faulty.read_faults()
# Rules that nothing but the reference knows, or that an episode in a hundred shows.
BESIDE = [
    "The current comes from NumPy's global generator",
    "A load is delivered without one on board",
    "The mask has one action too few",
    "A cleared pile keeps its cards",
    "The final observation is the first of the next episode",
    "The time limit comes a step late",
    "A landing at the limit is not called truncated",
    "The height moves with the speed before the step",
    "A bid may be repeated",
    "A bid that is met exactly is called false",
    # Two that are led alike show no difference: the first is disturbed too.
    "Rendering counts as a step",
    "The reset without a seed seeds again",
    "A copy keeps the generator of the original",
    *late("Dice are shared between instances", "Instances share their heights"),
]
ALONE = [
    "The current comes from NumPy's global generator",
    "The seed is not passed on",
    "Rocks are kept from one episode to the next",
    "Rendering counts as a step",
    "The piles of the observation are the environment's own list",
    "Rewards stay in the array of the last step",
    "An agent sees the other's die in its mask",
    "Observing moves the game's generator",
    "The reset without a seed seeds again",
    "A copy keeps the generator of the original",
    "Asking for the mask draws a card",
    *late(
        "The observation is the environment's own array",
        "The observation has another dtype than its space",
        "The mask of the info is the one before the step",
        "The deck belongs to the class",
        "The reward is a number and not one for each lane",
        "Dice are shared between instances",
    ),
]


def checked(env, cases, **how):
    return Hunt(Job(Source(env), **how), Search(60, cases=cases)).run()


def compared(fast, reference, cases, **how):
    fast, reference = (
        each if isinstance(each, Source) else Source(each) for each in (fast, reference)
    )
    return Hunt(Job(fast, reference, **how), Search(60, cases=cases)).run()


def fault_of(what):
    return next(fault for fault in FAULTS if fault["what"] == what)


@walk("game", [Ferry, Piles, Drop, DropVector, Bluff])
def test_games_as_they_should_be_have_no_fault(game):
    report = checked(game, 3)
    assert not report.faults, str(report)
    assert report.episodes == 4
    assert report.steps > 20
    assert report.cells > 10


@walk(
    "env",
    [
        odd.WithObjects,
        odd.WithLock,
        odd.MasksOfParts,
        odd.MaskInObservation,
        odd.MasksInInfo,
        odd.masked_in_the_middle,
        odd.masked_lanes,
        odd.masks_of_some_lanes,
        odd.Wide,
        odd.WideWhole,
        odd.Numbered,
        odd.NewGenerator,
        odd.SeldomNewGenerator,
        odd.DrawsInTurn,
    ],
)
def test_unusual_environments_have_no_fault(env):
    report = checked(env, {odd.NewGenerator: 8, odd.SeldomNewGenerator: 24}.get(env, 2))
    assert not any(each.case for each in report.findings), str(report)
    assert not report.faults, str(report)
    assert report.steps > 10


def test_a_mask_that_only_lanes_can_be_asked_for_counts():
    track = make_track(odd.masked_lanes(), Laws(()))
    track.reset(0)
    assert [choice.allows(1) for choice in track.turn.values()] == [False, False]


@walk(
    ("fast", "reference"),
    [
        (odd.episode_statistics, odd.episode_statistics),
        (odd.PaysNarrow, odd.Pays),
        (odd.Pays, odd.PaysNarrow),
        (odd.DrawsAhead, odd.Walk),
        (odd.NewGenerator, odd.NewGenerator),
    ],
)
def test_pairs_that_differ_in_nothing_that_counts_are_equal(fast, reference):
    report = compared(fast, reference, 4)
    assert not report.faults, str(report)
    assert report.steps > 10


@walk("game", [odd.SharesInCopies, odd.DrawsTwice])
def test_what_the_reference_does_not_bear_either_is_no_difference(game):
    assert checked(game, 4).faults
    report = compared(game, game, 4)
    assert not report.findings, str(report)
    assert compared(game, odd.Walk, 4).faults


@walk(
    ("env", "rule"),
    [
        (odd.CloseOnce, "closing one, even twice, changes no other"),
        (odd.CloseNeedsReset, "an environment can be closed at any time"),
        (odd.Stuck, "step(None) takes the agent away whose episode is over"),
        (odd.Remembers, "what happened in other episodes does not change an episode"),
        (odd.Bleeds, "a lane of a vector does not depend on the others"),
    ],
)
def test_a_fault_of_an_unusual_environment_is_found_and_played_again(env, rule):
    report = checked(env, 5)
    (finding,) = report.faults
    assert finding.rule == rule
    job = Job(Source(env), ignore=["info.t", "info.trace"])
    assert rule in [each.rule for each in job.find_again(list(finding.case), finding.stress)]


def test_infos_that_vary_are_ignored_one_by_one():
    """``info.t`` varies, and is a beginning of ``info.total``, which tells a fault."""
    report = checked(odd.Remembers, 5)
    notes = [each.rule.partition(" ")[0] for each in report.findings if each.kind == "note"]
    assert notes == ["info.t", "info.trace"]
    assert report.faults[0].field == "info.total"


def test_a_short_case_stays_in_the_action_space():
    report = checked(odd.FiveToSeven, 2)
    assert {call[""] for call in report.faults[0].case[1:]} <= {5, 6, 7}
    (finding,) = compared(odd.Narrow, odd.NarrowReference, 2).faults
    assert all(1.5 <= call[""][0] <= 2.5 for call in finding.case[1:])


@walk(
    ("env", "twin", "words"),
    [
        (odd.masked_lanes, odd.coin_twin, "a twin is of one environment, and this is a vector"),
        (odd.Numbered, odd.coin_twin, "no method shows what an agent sees now"),
    ],
)
def test_where_nobody_can_look_a_twin_is_a_missing_capability(env, twin, words):
    report = checked(env, 1, twin=twin)
    (missing,) = [each for each in report.findings if "worlds" in each.rule]
    assert missing.kind == "capability missing"
    assert words in missing.rule


def test_a_mask_that_tells_what_is_hidden_is_found():
    report = checked(odd.Peeks, 2, twin=odd.coin_twin)
    assert [each.rule for each in report.faults] == [
        "an agent sees nothing of what is hidden from it: mask[1]"
    ]


def test_another_time_limit_is_found_beside_outcomes():
    (finding,) = compared(odd.lake, "FrozenLake-v1", 3, sync=as_sync("FrozenLake")).faults
    assert finding.where == "truncated, step 5 of episode 0"


def test_episodes_are_cut_short_where_both_can_be_made_so():
    report = compared(odd.Poles, "CartPole-v1", 12)
    (finding,) = report.faults
    assert finding.field == "terminated"
    assert "('tests.testing.odd:Poles', {'max_episode_steps': " in finding.script


def test_the_time_counts_within_a_case_and_what_was_not_asked_is_said():
    report = Hunt(Job(Source(odd.Slow)), Search(0.4)).run()
    assert report.seconds < 2
    (note,) = [each for each in report.findings if each.kind == "note"]
    assert note.rule.startswith("never asked: ")


@walk("mode", ["SameStep", "NextStep", "Disabled"])
def test_a_vector_equals_its_single_environment_in_every_autoreset_mode(mode):
    report = compared(Source(DropVector, {"mode": mode}), Drop, 5)
    assert not report.faults, str(report)


@walk("what", BESIDE)
def test_a_fault_is_found_beside_the_game_as_it_should_be(what):
    fault = fault_of(what)
    faulty_one, reference = Source(faulty.make_faulty(fault)), Source(GAMES[fault["file"]])
    job = Job(faulty_one, reference)
    report = Hunt(job, Search(60, cases=90)).run()
    assert report.faults, what
    finding = report.faults[0]
    again = job.find_again(list(finding.case), finding.stress)
    assert finding.rule in [each.rule for each in again]


@walk("what", ALONE)
def test_a_fault_is_found_without_a_reference(what):
    fault = fault_of(what)
    twin = bluff_twin if fault["file"] == "bluff.py" else None
    report = checked(faulty.make_faulty(fault), 4, twin=twin)
    assert report.faults, what


def test_the_texts_of_all_faults_stand_once_in_their_games():
    assert len(FAULTS) == 80
    assert sum(fault.get("early", False) for fault in FAULTS) == 40
    for fault in FAULTS:
        faulty.make_faulty(fault)


def test_a_finding_is_short_and_its_script_prints_both_values():
    report = compare("tests.testing.faulty:Raising", "tests.testing.games.ferry:Ferry", seconds=0.5)
    (finding,) = report.faults
    assert finding.kind == "difference"
    assert finding.steps == 3
    said = io.StringIO()
    with contextlib.redirect_stdout(said), pytest.raises(SystemExit, match="1"):
        exec(compile(finding.script, "script", "exec"), {"__name__": "__main__"})
    assert "RuntimeError: the engine is gone" in said.getvalue()
    assert "tests.testing.games.ferry:Ferry" in said.getvalue()


@walk(
    ("name", "words"),
    [
        ("Crashing", "ended by status 3"),
        ("Raising", "RuntimeError: the engine is gone"),
        ("NotFinite", "a reward is a finite number"),
        ("Four", "step returns (observation, reward, terminated, truncated, info)"),
    ],
)
def test_what_does_not_go_on_is_a_finding(name, words):
    report = check(f"tests.testing.faulty:{name}", seconds=0.5)
    assert report.faults
    assert words in str(report)


def test_what_does_not_answer_is_a_finding():
    report = check("tests.testing.faulty:Hanging", seconds=0.5, timeout=2)
    assert "answers within 2 seconds" in str(report)


def test_assertions_are_for_tests():
    assert_same(Drop, Drop, seconds=0.3)
    with pytest.raises(AssertionError, match="a reward is a finite number"):
        assert_correct("tests.testing.faulty:NotFinite", seconds=0.3)


@walk(
    ("call", "words"),
    [
        (lambda: check(Ferry(), seconds=1), "an instance cannot be made again"),
        (lambda: check(lambda: Ferry(), seconds=1), "must be a function that can be pickled"),
        (lambda: check("Ferry", seconds=1), "must be a Gymnasium id such as CartPole-v1, or"),
        (lambda: check("Nothing-v7", seconds=1), "Nothing-v7: Environment"),
        (lambda: check("nowhere:make", seconds=1), "No module named 'nowhere'"),
        (lambda: check("tests.testing.faulty:gone", seconds=1), "has no attribute 'gone'"),
        (lambda: check("tests.testing.faulty:HERE", seconds=1), "must be something to call"),
        (lambda: check("tests.testing.faulty:not_made", seconds=1), "OSError: no such level"),
        (
            lambda: check("tests.testing.faulty:not_an_environment", seconds=1),
            "ndarray: must be an environment of Gymnasium",
        ),
        (lambda: check(Ferry, seconds=0), "seconds=0: must be a finite number above 0"),
        (lambda: check(Ferry, seconds=float("nan")), "seconds=nan: must be a finite number"),
        (lambda: check(Ferry, seconds=1, seed=-1), "seed=-1: must be an integer from 0"),
        (lambda: check(Ferry, seconds=1, timeout=0), "timeout=0: must be a finite number"),
        (lambda: compare(Ferry, Ferry, rtol=2), "rtol=2: must be a number from 0 to below 1"),
        (lambda: compare(Ferry, Ferry, ignore="info"), "ignore='info': must be a sequence"),
        (lambda: compare(Ferry, Ferry, sync="Chess"), "sync='Chess': must be one of CartPole"),
        (lambda: compare(Ferry, Ferry, sync=3), "sync=3: must be a Sync, a function"),
        (lambda: compare(Ferry, Bluff, seconds=1), "they cannot be compared"),
        (
            lambda: compare(Ferry, Ferry, sync=lambda *_: None),
            "sync: must be a function that can be",
        ),
        (lambda: check(Ferry, options=5), "options=5: must be a mapping"),
        (lambda: check(Ferry, twin=5), "twin=5: must be a function (env, agent, rng)"),
        (lambda: check(Ferry, twin="nowhere:twin"), "nowhere:twin: No module named 'nowhere'"),
        (
            lambda: check(Bluff, seconds=1, twin=odd.raising_twin),
            "twin: ValueError: no other world",
        ),
        (lambda: check(odd.Words), "Words: actions must be of Box, Discrete, MultiDiscrete"),
        (
            lambda: compare(odd.NoReset, odd.NoReset, seconds=1),
            "no case can be played: RuntimeError: needs options",
        ),
        (lambda: compare(Drop, DropVector), "the vector must be the first of both"),
        (lambda: replay(env=Ferry, stress="copies", case=[0]), "stress='copies': must be one of"),
        (
            lambda: compare(
                DropVector, ("tests.testing.games.drop:DropVector", {"mode": "NextStep"}), seconds=1
            ),
            "compare each with the single environment",
        ),
    ],
)
def test_what_cannot_be_examined_is_refused_in_a_sentence(call, words):
    with pytest.raises(ConfigError) as caught:
        call()
    assert words in str(caught.value)


IDS = {
    "CartPole-v1": "CartPole",
    "MountainCar-v0": "MountainCar",
    "MountainCarContinuous-v0": "MountainCarContinuous",
    "Pendulum-v1": "Pendulum",
    "Acrobot-v1": "Acrobot",
    "FrozenLake-v1": "FrozenLake",
    "CliffWalking-v1": "CliffWalking",
    "CliffWalkingSlippery-v1": "CliffWalkingSlippery",
    "Taxi-v4": "Taxi",
    "Blackjack-v1": "Blackjack",
}


@walk(("env_id", "recipe"), list(IDS.items()))
def test_a_recipe_brings_one_into_the_state_of_another_that_draws_otherwise(env_id, recipe):
    class Shifted:
        """Draws other episodes than its twin: the seeds are others."""

        def __new__(cls):
            import gymnasium

            env = gymnasium.make(env_id, disable_env_checker=True)
            reset = env.reset
            env.reset = lambda seed=None, options=None: reset(
                seed=None if seed is None else seed + 1000, options=options
            )
            return env

    report = compared(Shifted, env_id, 3, sync=as_sync(recipe), rtol=1e-4, ignore=["info"])
    assert not report.faults, str(report)
    assert report.steps > 4
    assert set(IDS.values()) | {"FrozenLake8x8"} == set(RECIPES)


def test_without_a_recipe_other_draws_are_a_difference():
    class Shifted(Drop):
        def reset(self, *, seed=None, options=None):
            return super().reset(seed=None if seed is None else seed + 1, options=options)

    report = compared(Shifted, Drop, 2)
    assert report.faults[0].where == "observation[0], reset of episode 0"


def _engine(backend):
    import fastenv

    return fastenv.make_engine("Prospector-v0", num_envs=2, backend=backend)


def _fast():
    return _engine("fast")


def _reference():
    return _engine("reference")


def test_engines_are_compared_lane_by_lane():
    report = compared(_fast, _reference, 2)
    assert not report.faults, str(report)
    assert report.steps > 4


def test_worlds_that_cannot_be_are_found():
    def twin(env, agent, rng):
        world = env.twin(agent, rng)
        world.bid = 99
        world.agent_selection = agent
        return world

    report = checked(Bluff, 1, twin=twin)
    rules = " ".join(finding.rule for finding in report.faults)
    assert "an agent sees nothing of what is hidden from it" in rules


def test_an_info_that_is_never_the_same_is_a_note():
    class Timed(Ferry):
        def step(self, action):
            *rest, info = super().step(action)
            return *rest, info | {"time": time.perf_counter()}

    report = checked(Timed, 2)
    assert not report.faults, str(report)
    (note,) = [each for each in report.findings if each.kind == "note"]
    assert note.rule == "info.time differs from run to run: it is not compared"


def test_a_report_says_how_much_was_tried():
    report = checked(Ferry, 2)
    said = str(report)
    assert "none found in 3 episodes" in said
    assert "a sample and no proof" in said
    assert np.isclose(report.as_dict()["seconds"], report.seconds)


@walk(
    "examine",
    [
        partial(compare, "tests.testing.faulty:Kept", "tests.testing.games.ferry:Ferry"),
        partial(check, "tests.testing.faulty:Kept"),
    ],
)
def test_a_fault_that_a_module_keeps_is_shown_by_a_longer_case(examine):
    (finding,) = examine(seconds=1).faults
    assert finding.steps >= 30  # the fault begins with the 60th step, of one play or of two
    names = {"__name__": "__main__"}
    faulty.Kept.steps_in_all.clear()  # as in a new process
    with contextlib.redirect_stdout(io.StringIO()), pytest.raises(SystemExit) as status:
        exec(finding.script, names)
    assert status.value.code == 1
