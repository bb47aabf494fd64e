"""Sessions: play, watch, step back, branch, keep and open."""

import json
import re
import shutil

import numpy as np
import pytest

import fastenv
from fastenv.errors import ConfigError
from fastenv.registry import ENVS
from tests.slow import late
from tests.training.studio.conftest import AGENT
from training import load_policy
from training.players.value import find_value
from training.playing.decision import ADVICE
from training.studio import forms, kept
from training.studio.seating import fill

SKULL = "SkullKingFlat-v0"
CABLE = "GameBoyLink-v0"  # two machines, each of which is thought about in Python
SHORT = {"schedule": [1, 2]}


def begin(asked, env=SKULL, players=("person", "heuristic"), options=None, **given):
    options = SHORT if options is None and env == SKULL else (options or {})
    said = asked.ask("begin", env=env, players=[*players], options=options, **{"seed": 3, **given})
    assert "refused" not in said, said
    table = said["table"]
    if table["lanes"] == 1 and table["frame_time"] is None:
        asked.ask("run", on=True, speed=0.0)
        asked.go_on()
    return asked.last("view")


def play_on(asked, choose=lambda legal: legal[0][0]):
    """Play a game to its end as its person; return all views of decisions."""
    views = []
    while not (view := asked.last("view"))["over"]:
        views.append(view)
        asked.ask("act", action=choose(view["legal"]))
        asked.ask("run", on=True, speed=0.0)
        asked.go_on()
    return [*views, view]


def test_a_game_is_played_to_its_points(asked):
    begin(asked)
    views = play_on(asked)
    assert views[-1]["result"].startswith("The game is over: ")
    lines = [line for view in views for line in view["news"]]
    assert any(line.startswith("Bids: You 0") for line in lines)
    assert any("Round 2 is over" in line for line in lines)
    marks = asked.last("timeline")["branches"][0]["marks"]
    assert [mark for _, mark in marks] == ["round 1", "round 2"]


def test_an_illegal_action_says_why_and_changes_nothing(asked):
    view = begin(asked)
    said = asked.ask("act", action=9)["refused"]["text"]
    assert "9" in said
    assert "possible are 0 (bid 0), 1 (bid 1)" in said
    assert asked.ask("act", action=11)["refused"]["text"] == "action 11: there are 0 to 10."
    assert asked.ask("go", branch=0, index=view["index"])["view"]["index"] == view["index"]


def test_only_a_person_is_asked(asked):
    begin(asked, players=["heuristic"])
    assert asked.last("view")["over"]
    assert asked.ask("act", action=0)["refused"]["text"].startswith("the game is over")


def test_every_decision_can_be_gone_back_to_with_the_same_bits(asked):
    begin(asked)
    play_on(asked)
    newest = asked.last("view")["index"]
    hashes = []
    for index in range(newest + 1):
        asked.ask("go", branch=0, index=index)
        hashes.append(asked.ask("keep")["kept"]["hash"])
    assert len(set(hashes)) == len(hashes)
    asked.ask("go", branch=0, index=newest // 2)
    assert asked.ask("keep")["kept"]["hash"] == hashes[newest // 2]
    assert asked.ask("go", branch=0, index=newest + 1)["refused"]["text"].endswith("there is none.")


def test_playing_on_from_the_past_begins_a_branch_beside_the_first(asked):
    first = begin(asked, players=["heuristic", "heuristic", "heuristic", "person"])["index"]
    assert first > 0
    play_on(asked)
    asked.ask("go", branch=0, index=first)
    asked.ask("act", action=1)
    asked.ask("run", on=True, speed=0.0)
    asked.go_on()
    branches = asked.last("timeline")["branches"]
    assert [each["parent"] for each in branches] == [None, 0]
    assert branches[1]["first"] == first
    assert asked.last("view")["branch"] == 1
    asked.ask("go", branch=1, index=0)  # which lies in the first
    assert asked.last("view")["branch"] == 0


def test_the_log_is_that_of_the_way_to_a_moment(asked):
    begin(asked)
    views = play_on(asked)
    newest = views[-1]["index"]
    whole = asked.ask("go", branch=0, index=newest)["log"]["lines"]
    assert whole[0].startswith("Bids: You 0")
    assert sum("is over" in line for line in whole) == 2
    for index in range(newest + 1):
        lines = asked.ask("go", branch=0, index=index)["log"]["lines"]
        assert lines == whole[: len(lines)]
        marked = [line for line in lines if line.startswith("You bid")]
        said = asked.last("view")["marked"]
        assert said == (f"round {len(marked)}: {marked[-1]}" if marked else "")
    assert asked.ask("go", branch=0, index=0)["log"]["lines"] == []
    asked.ask("act", action=1)
    asked.ask("run", on=True, speed=0.0)
    asked.go_on()
    branch = asked.last("view")["branch"]
    assert branch == 1
    lines = asked.ask("go", branch=1, index=asked.last("view")["index"])["log"]["lines"]
    assert lines[0].startswith("Bids: You 1")
    assert asked.ask("take", players=["heuristic"])["log"]["lines"] == lines


def test_the_reasons_of_points_add_up(asked):
    """Whatever a game pays, each line names bid, tricks and parts that are its points."""
    options = {"scoring": "rascal_cannon", "abilities": "agent", "schedule": [5, 5, 5, 5]}
    rng = np.random.default_rng(3)
    for given in ({}, options, {**options, "scoring": "rascal"}):
        begin(asked, options={"schedule": [4, 6, 8], **given}, seed=int(rng.integers(1000)))
        play_on(asked, lambda legal: legal[rng.integers(len(legal))][0])
        lines = asked.ask("go", branch=0, index=asked.last("view")["index"])["log"]["lines"]
        paid, rounds = {}, 0
        for line in lines:
            if found := re.match(r"Round \d+ is over: (.*)\.$", line):
                paid = dict(re.findall(r"(\w[\w #]*?) ([+-]\d+) \(-?\d+\)", found[1]))
                rounds += 1
            elif found := re.match(r"(.+) bid (\d+) and won (\d+)(.*?): (.*)\.$", line):
                name, bid, won, off, why = found.groups()
                assert (bid == won) == (not off)
                parts = re.findall(r"(?:^|and )([+-]\d+)", why)
                assert sum(map(int, parts)) == int(paid.pop(name)), line
        assert not paid
        assert rounds == len(given.get("schedule", [4, 6, 8]))


def test_others_can_take_over(asked):
    begin(asked)
    assert asked.ask("take", players=["heuristic"])["table"]["persons"] == []
    asked.ask("run", on=True, speed=0.0)
    asked.go_on()
    assert asked.last("view")["over"]


def test_a_link_opens_the_same_bits_and_a_file_does(asked, places):
    view = begin(asked)
    name = asked.ask("keep")["kept"]["hash"]
    row = kept.find(name, places).row
    play_on(asked)
    assert asked.ask("open", hash=name)["view"]["scene"] == view["scene"]
    assert asked.ask("keep")["kept"]["hash"] == name
    record = json.loads((places.kept / f"{name}.json").read_text())
    play_on(asked)
    said = asked.ask("load", moment=record)
    assert said["view"]["legal"] == view["legal"]
    assert said["table"]["players"] == ["person", *["heuristic"] * 3]
    engine = fastenv.make_engine(SKULL, 1, seats="all", **record["options"])
    assert engine.spec.state_dtype.itemsize == len(row)


@pytest.mark.parametrize("env", ["Prospector-v0", "DrMarioPlacement-v0", "SkullKingWorker-v0"])
def test_games_for_one_are_played_kept_and_proved(asked, env):
    view = begin(asked, env, ["person"])
    for _ in range(3):
        view = asked.ask("act", action=view["legal"][0][0])["view"]
    assert view["index"] == 3
    name = asked.ask("keep")["kept"]["hash"]
    assert asked.ask("open", hash=name)["view"]["scene"] == view["scene"]
    asked.ask("prove", steps=3)
    asked.go_on()
    proof = asked.last("proof")
    assert proof["difference"] is None
    assert (proof["steps"], proof["done"]) == (3, True)


def test_a_film_is_made_and_its_kind_is_checked(asked, monkeypatch):
    begin(asked)
    assert asked.ask("film", format="gif", last=2)["film"]["url"] == "/film/1.gif"
    assert asked.films[0][1][:3] == b"GIF"
    said = asked.ask("film", format="gif", first=9, last=2)["refused"]["text"]
    assert said == "film from 9 to 0: there is nothing between them."
    monkeypatch.setattr("training.logs.film._ffmpeg", lambda: (_ for _ in ()).throw(OSError("no")))
    assert "refused" in asked.ask("film", format="mp4")


def test_several_games_are_watched_and_one_is_picked(asked):
    view = begin(asked, "DrMarioPlacement-v0", ["greedy"], {"level": 1}, lanes=4)
    assert view["lanes"] == 4
    assert len(view["scenes"]) == 4
    said = asked.ask("pick", lane=2)
    assert said["table"]["lanes"] == 1
    said = asked.ask("begin", env=SKULL, players=["person"], lanes=4)
    assert said["refused"]["text"].startswith("lanes=4: ")


def test_frames_go_on_by_themselves_and_keys_are_held(asked):
    begin(asked, "DrMarioFrame-v0", ["person"], {"level": 1})
    asked.ask("key", key="left", down=True, serial=7)
    asked.go_on(lambda said: said["kind"] == "view" and said["index"] > 8)
    view = asked.last("view")
    assert view["running"]
    assert view["key"] == 7
    asked.ask("run", on=False)
    assert not asked.last("view")["running"]
    assert asked.session.due() is None


def test_large_rows_are_stepped_to_again(asked):
    begin(asked, "LanternWalk-v0", ["person"])
    asked.ask("key", key="right", down=True)
    asked.go_on(lambda said: said["kind"] == "view" and said["index"] > 70)
    asked.ask("run", on=False)
    asked.listen()
    history = asked.session._game.history
    newest = history.index
    kept = [moment.rows is not None for moment in history.branches[0].moments]
    assert sum(kept) == 1 + newest // 64
    assert np.array_equal(history.rows(newest), asked.session._game.engine.get_states([0]))
    assert asked.ask("go", branch=0, index=33)["view"]["pixels"] == 160 * 144 // 4


def test_thoughts_name_layout_mask_and_terms(asked):
    begin(asked)
    said = asked.ask("think", on=True, who="search:heuristic,worlds=2,decisions=all")["thought"]
    assert {part["name"] for part in said["observation"]} >= {"hand", "table", "status"}
    assert said["mask"] == [0, 1]
    assert [row["worlds"] for row in said["advice"]["searched"]] == [2, 2]
    assert {name for name, _ in said["terms"]} >= {"reward_points"}


def test_the_value_of_an_agent_is_shown_or_why_there_is_none(asked, finished):
    env, options = "SkullKingWorker-v0", {"opponents": "rule_medium"}
    asked.session._places.runs.mkdir()
    shutil.copytree(finished, asked.session._places.runs / "mine")
    begin(asked, env, ["person"], options)
    advice = asked.ask("think", on=True, who="mine")["thought"]["advice"]
    assert advice["note"] == ""
    policy, engine = load_policy(finished), asked.session._game.engine
    expected = find_value(policy, "mine")[0](engine.obs)[0]
    assert advice["value"] == pytest.approx(expected, abs=1e-6)
    begin(asked, players=["person", "heuristic"])
    advice = asked.ask("think", on=True, who="pretrained/skullking")["thought"]["advice"]
    assert advice["value"] is None
    assert advice["note"].startswith("skullking shows no value: ")
    assert advice["probabilities"]


def test_who_plays_says_why_until_more_is_known(asked):
    who = ["pretrained/skullking", "search:heuristic,worlds=2,decisions=all", "heuristic", "random"]
    asked.ask("think", on=True)
    asked.ask("begin", env=SKULL, players=who, options=SHORT, seed=3)
    asked.ask("run", on=True, speed=1000.0)  # at a speed, every decision is shown
    asked.go_on()
    names = [seat["name"] for seat in asked.last("view")["scene"]["seats"]]
    assert names == ["skullking", "search:heuristic", "heuristic", "random"]
    said = [each["played"] for each in asked.said if each["kind"] == "thought" and each["played"]]
    reasons = {each["seat"]: each for each in said}
    assert set(reasons) == {"skullking", "search:heuristic"}  # bots give no reasons
    assert reasons["skullking"]["reason"].startswith("The network plays ")
    assert "the mean of 2 worlds" in reasons["search:heuristic"]["reason"]
    assert reasons["search:heuristic"]["searched"]


def test_what_is_hidden_is_shown_behind_a_switch(asked):
    view = begin(asked)
    assert "hands" not in view["scene"]
    assert len(asked.ask("think", on=True, opened=True)["view"]["scene"]["hands"]) == 4


def test_fields_of_an_observation_stand_where_their_bytes_are(asked):
    begin(asked, "DrMarioPlacement-v0", ["person"], {"level": 0})
    parts = asked.ask("think", on=True)["thought"]["observation"]
    fields = asked.session._game.engine.obs_dtype.fields
    assert [part["offset"] for part in parts] == [fields[part["name"]][1] for part in parts]
    assert parts[1]["offset"] > 0


@pytest.mark.parametrize(
    ("players", "adviser"),
    [
        (["person", "heuristic"], f"search:pretrained/skullking-2,{ADVICE}"),
        (["person", "random", AGENT], f"search:{AGENT},{ADVICE}"),
        (["person", f"search:{AGENT},worlds=4"], f"search:{AGENT},worlds=4"),
        (["heuristic"], None),  # nothing is hidden from who watches
    ],
)
def test_who_advises_by_default_against_hidden_cards(asked, players, adviser):
    begin(asked, players=players)
    assert asked.last("table")["adviser"] == adviser


@pytest.mark.parametrize("env", ["Prospector-v0", "DrMarioPlacement-v0"])
def test_nobody_advises_by_default_where_nobody_hides_anything(asked, env):
    begin(asked, env, ["person"])
    assert asked.last("table")["adviser"] is None


def is_bidding(asked):
    return asked.last("view")["scene"]["phase"] == "BID"


def test_the_adviser_by_default_gives_reasons_for_bids_and_cards(asked):
    begin(asked)
    who = asked.last("table")["adviser"]
    bid = asked.ask("think", on=True, who=who)["thought"]
    assert bid["played"] is None  # others give no reasons
    asked.ask("act", action=asked.last("view")["legal"][0][0])
    asked.go_on()
    only = asked.last("thought")["advice"]  # one card
    while "searched" not in asked.last("thought")["advice"] or is_bidding(asked):
        asked.ask("act", action=asked.last("view")["legal"][0][0])
        asked.go_on()
    for advice in (bid["advice"], asked.last("thought")["advice"]):
        assert "points ahead of the others, the mean of " in advice["reason"]
        assert advice["milliseconds"] < 1000
    assert only["reason"].endswith(" with 100 %.")
    assert only["note"] == "Nothing was searched here: there is nothing to choose."


def test_why_the_adviser_by_default_says_nothing_is_noted(asked):
    begin(asked, options={"num_players": 3})
    said = asked.ask("think", on=True, who=asked.last("table")["adviser"])
    assert "refused" not in said
    assert said["thought"]["advice"] is None
    assert said["thought"]["note"].startswith("search:skullking-2 cannot think about this game: ")
    asked.ask("think", on=True)
    assert asked.last("thought")["note"] == ""


def test_a_search_that_leaves_a_decision_alone_says_so(asked):
    begin(asked)
    who = "search:heuristic,worlds=2,decisions=cards"
    advice = asked.ask("think", on=True, who=who)["thought"]["advice"]
    assert "searched" not in advice
    assert advice["note"].startswith("Nothing was searched here")


def test_who_has_learnt_with_other_options_cannot_think_here(asked):
    begin(asked, "LanternWalk-v0", ["person"])
    said = asked.ask("think", on=True, who="pretrained/lantern_walk")["refused"]["text"]
    assert said.startswith("lantern_walk cannot think about this game: ")
    begin(asked, "LanternWalk-v0", ["person"])  # and nothing stands in the way of the next game
    begin(asked, "LanternWalk-v0", ["pretrained/lantern_walk"], {})
    assert "refused" not in asked.ask("think", on=True, who="pretrained/lantern_walk")
    said = asked.ask("begin", env="LanternWalk-v0", players=["person"])
    assert said["refused"]["text"].startswith("lantern_walk cannot think")
    assert said["table"]["persons"] == [0]


def test_agents_are_offered_where_they_play(places):
    whole, part = (forms.agents_for(env, places) for env in (SKULL, "SkullKingWorker-v0"))
    assert "pretrained/skullking-ppo" in whole  # a pair, trained on the cards alone
    assert part == []


def test_looking_at_a_game_refuses_nothing(asked, monkeypatch):
    def fail(*_):
        raise ConfigError("no such game")

    monkeypatch.setattr("training.studio.session.make_game_table", fail)
    monkeypatch.setattr("training.studio.session._PREPARED", set())
    assert asked.ask("describe", env=SKULL) == {}


def test_every_option_says_what_it_is(places):
    for env in ENVS:
        for option in forms.describe(env, places)["options"]:
            assert option["help"], (env, option["name"])


def test_who_takes_which_seat():
    assert fill(["person", "a"], 4) == ["person", "a", "a", "a"]
    assert fill(["a", "person", "b"], 5) == ["a", "person", "b", "a", "b"]
    assert fill(["person"], 2) == ["person", "person"]


@pytest.mark.parametrize("env", ["DrMarioFrame-v0", *late("DrMarioVersusFrame-v0")])
def test_who_chooses_placements_plays_frames(asked, env):
    players = ["greedy"] if env == "DrMarioFrame-v0" else ["greedy", "random"]
    begin(asked, env, players, {"level": 0})
    asked.ask("run", on=True, speed=0.0)
    asked.go_on(lambda said: said["kind"] == "view" and int(pills(said)) >= 4)
    assert int(pills(asked.last("view"))) >= 4


def pills(view):
    return dict(view["scene"]["bottles"][0]["counters"])["pills"]


def test_a_person_plays_frames_against_who_chooses_placements(asked):
    begin(asked, "DrMarioVersusFrame-v0", ["person", "greedy"], {"level": 1})
    asked.ask("key", key="left", down=True, serial=3)
    asked.go_on(lambda said: said["kind"] == "view" and said["index"] >= 90)
    bottles = asked.last("view")["scene"]["bottles"]
    frames = [dict(each["counters"])["frames"] for each in bottles]
    assert frames[0] == frames[1]
    assert asked.last("view")["running"]


def test_a_timeline_that_is_full_ends_the_run_in_a_sentence(asked, monkeypatch):
    monkeypatch.setattr("training.playing.history.MAX_DECISIONS", 3)
    begin(asked, players=["heuristic"])
    assert asked.last("refused")["text"].startswith("this session has 3 decisions")
    assert asked.session.due() is None


@pytest.mark.parametrize("env", [*late(CABLE), *(env for env in ENVS if env != CABLE)])
def test_every_environment_is_played_thought_about_and_opened_again(asked, env):
    options = {"abilities": "agent", "tigress": "agent"} if env == "SkullKingAbility-v0" else {}
    view = begin(asked, env, ["person"], options)
    asked.ask("think", on=True, opened=True)
    for _ in range(4):
        if view["over"]:
            break
        if asked.last("table")["frame_time"] is None:
            asked.ask("act", action=view["legal"][0][0])
        else:
            asked.ask("key", key="left", down=True)
            asked.go_on(lambda said: said["kind"] == "view", limit=5)
            asked.ask("run", on=False)
        view = asked.last("view")
        assert "refused" not in {said["kind"] for said in asked.said}
    assert view["index"] >= 1
    assert asked.last("thought")["actions"] > 0
    asked.ask("go", branch=0, index=1)
    name = asked.ask("keep")["kept"]["hash"]
    asked.ask("open", hash=name)
    assert asked.ask("keep")["kept"]["hash"] == name


def test_pirates_and_the_tigress_ask_for_their_choices(asked):
    """Whole games with abilities: every kind of decision is offered in the scene."""
    options = {"abilities": "agent", "tigress": "agent", "schedule": [8, 9, 10]}
    rng, phases = np.random.default_rng(2), set()
    wanted = {"BID", "PLAY", "TIGRESS", "ROSIE", "BENDT_1", "RASCAL", "HARRY"}
    for seed in range(9):
        if phases >= wanted:
            break
        begin(asked, players=["person"], options=options, seed=seed)
        while not (view := asked.last("view"))["over"]:
            scene = view["scene"]
            phases.add(scene["phase"])
            offered = {action for action, _ in scene["choices"]} | set(scene["legal"])
            assert offered == {action for action, _ in view["legal"]}, scene["phase"]
            asked.ask("act", action=int(rng.choice(sorted(offered))))
    assert phases >= wanted


def test_who_decide_together_are_asked_one_after_the_other(asked):
    begin(asked, "DrMarioVersus-v0", ["person", "greedy"], {"level": 1})
    for key in ("left", "up", "enter"):
        asked.ask("key", key=key)
    asked.go_on()
    view = asked.last("view")
    assert view["yours"]
    assert view["index"] >= 1
    counters = [dict(each["counters"]) for each in view["scene"]["bottles"]]
    assert [each["pills"] for each in counters] != ["0", "0"]
    asked.ask("go", branch=0, index=0)
    assert asked.last("view")["yours"]
