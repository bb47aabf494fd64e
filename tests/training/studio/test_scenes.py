"""Scenes: what a seat sees of a game as data, and games that offer none."""

import json
from pathlib import Path

import numpy as np
import pytest

import fastenv
from fastenv import registry
from fastenv.registry import ENVS, Entry
from tests import nim
from tests.tables import walk
from training.run.game_view import find_view
from training.studio import catalog, forms, messages

PLAIN = json.JSONDecoder()


def shown(engine, row, seat, **how):
    view = find_view(engine.game.env_id)
    names = [f"player {k}" for k in range(engine.game.num_seats)]
    return PLAIN.decode(messages.dump({"scene": view.scene(engine, row, seat, names, **how)}))


@walk("env", ENVS)
def test_every_scene_is_small_json_and_changes_nothing(env):
    seats = fastenv.make_game(env).spec.num_agents > 1
    engine = fastenv.make_engine(env, 1, **({"seats": "all"} if seats else {}))
    engine.reset_many(seeds=[2])
    before = engine.get_states([0])
    scene = shown(engine, before[0], 0)
    assert scene["scene"] is not None
    assert len(messages.dump(scene)) < 40_000
    assert engine.get_states([0]).tobytes() == before.tobytes()
    view = find_view(env)
    assert view.page is not None
    assert view.page.read_text(encoding="utf-8").count("export function create(") == 1
    blocks = view.blocks(engine)
    if blocks:
        assert sum(block.length for block in blocks) == engine.obs[0].size


def test_nothing_hidden_is_in_a_scene():
    """Worlds that a seat cannot tell apart have the same scene for it; opened they differ."""
    engine = fastenv.make_engine("SkullKingFlat-v0", 1, seats="all", schedule=(5,))
    engine.reset_many(seeds=[5])
    rng = np.random.default_rng(5)
    differing = 0
    while not engine.ended[0]:
        row, actor = engine.get_states([0]), int(engine.get_actors()[0])
        worlds = engine.resample(row, actor, 7, worlds=4)
        expected = shown(engine, row[0], actor)
        for world in worlds:
            assert shown(engine, world, actor) == expected
            opened = shown(engine, world, actor, opened=True)
            differing += opened != shown(engine, row[0], actor, opened=True)
        action = int(rng.choice(np.flatnonzero(engine.mask[0])))
        engine.step_many([action], autoreset=False)
    assert differing > 10


def test_a_match_hides_what_the_opponent_has_chosen():
    engine = fastenv.make_engine("DrMarioVersus-v0", 1, seats="all")
    engine.reset_many(seeds=[5])
    row = engine.get_states([0])
    row["players"]["plan_left"][0, 1] = 3
    row["players"]["plan_action"][0, 1] = 120
    bottles = shown(engine, row[0], 0)["scene"]["bottles"]
    assert bottles[1]["ghost"] == []
    assert shown(engine, row[0], 0, opened=True)["scene"]["bottles"][1]["ghost"] != []


@pytest.fixture
def other_game(monkeypatch):
    """A game that nobody but the registry knows."""
    monkeypatch.setitem(registry.ENVS, "Nim-v0", Entry(lambda: nim, {}))


def test_any_registered_game_shows_its_text_and_named_actions(asked, places, other_game):
    about = forms.describe("Nim-v0", places)
    assert about["bots"] == ["random", "perfect"]
    assert [each["name"] for each in about["options"]] == ["players", "sticks"]
    said = asked.ask("begin", env="Nim-v0", players=["person", "perfect"], seed=1)
    assert said["table"]["page"] is None
    asked.ask("run", on=True, speed=0.0)
    asked.go_on()
    view = asked.last("view")
    assert view["scene"] is None
    assert set(view["text"]) <= {"|"}
    assert view["legal"][0] == [0, "0"]
    asked.ask("act", action=0)
    asked.ask("run", on=True, speed=0.0)
    asked.go_on()
    assert asked.last("view")["news"][0] == "You: 0"
    asked.ask("prove", steps=4)
    asked.go_on()
    assert asked.last("proof")["difference"] is None


@pytest.mark.parametrize("env", ["SkullKingFlat-v0", "DrMarioFrame-v0", "LanternWalk-v0"])
def test_forms_have_the_options_and_their_help(places, env):
    about = forms.describe(env, places)
    options = {each["name"]: each for each in about["options"]}
    config = fastenv.make_game(env).config
    for name, option in options.items():
        assert option["default"] in (None, getattr(config, name))
        assert option["default"] in option["choices"] or not option["choices"]
    assert not {"tier", "kind", "opponents", "opponent", "seats", "rom", "demo"} & set(options)
    if env == "SkullKingFlat-v0":
        assert options["scoring"]["choices"] == ["skull_king", "rascal", "rascal_cannon"]
        assert options["num_players"]["help"] == "2 to 8."
        assert options["num_players"]["title"] == "Number of players"
        assert not any("`" in option["help"] for option in options.values())
        named = ("skullking-2", "skullking", "skullking-ppo")  # the newest first
        assert about["agents"] == [f"pretrained/{name}" for name in named]


def test_pages_are_small():
    page = Path(forms.__file__).parent / "page"
    first = sum(path.stat().st_size for path in page.iterdir())
    assert first <= 200_000
    scenes = Path(forms.__file__).parents[1].rglob("scene.js")
    written = [*page.iterdir(), *scenes]
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in written) <= 3000


def test_every_id_is_explained_in_a_family_with_a_picture():
    families = catalog.list_families()
    assert sorted(kind["env"] for family in families for kind in family["envs"]) == sorted(ENVS)
    for family in families:
        assert family["about"].endswith(".")
        assert family["picture"]
        assert all(kind["about"].endswith(".") for kind in family["envs"])
        assert len({kind["title"] for kind in family["envs"]}) == len(family["envs"])
        assert find_view(family["envs"][0]["env"]).rules.is_file()


def test_a_game_that_only_the_registry_knows_is_its_own_family(other_game):
    family = catalog.list_families()[-1]
    assert (family["title"], family["picture"]) == ("Nim", False)
    assert family["envs"] == [{"env": "Nim-v0", "title": "Nim", "about": ""}]
    assert catalog.name_env("PigDice-v0") == "Pig Dice"
