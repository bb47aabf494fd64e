"""What is drawn shows what a player may know, and no more, and is enough to play by."""

import re

import numpy as np
import pytest

import fastenv
import fastenv.prospector
from fastenv.prospector import encoding
from fastenv.prospector.picture import place
from fastenv.prospector.reference import Prospector
from fastenv.prospector.render import render_ansi, render_rgb
from fastenv.prospector.tables import NUM_ACTIONS, TIME_MAX, Action
from fastenv.prospector.view import ACTION_NAMES, ship_view
from tests.prospector.games import rows_of
from tests.slow import every

HIDDEN = {
    "rng": 7,
    "node_hazard": 0.9,
    "node_pirate": 0.9,
    "edge_threat": 0.9,
    "true_comp": 0.9,
    "richness": 3.9,
    "stability": 0.01,
    "noise": 0.2,
    "price_phase": 1.0,
    "price_period": 200.0,
    "price_amp": 3.0,
    "recent_sales": 9.0,
}


def row_of(game):
    return rows_of(game)[0]


def lines_of(game):
    return render_ansi(row_of(game), game.time_max, color=False).splitlines()


def walk(seed, steps=150, time_max=TIME_MAX):
    """Play random legal actions without cashing out; yield the game at every decision."""
    game, rng = Prospector(time_max, seed), np.random.default_rng(seed)
    for _ in range(steps):
        yield game
        if game.done:
            return
        legal = sorted(int(a) for a in encoding.valid_actions(game))
        game.step(int(rng.choice(legal[:-1])))


def after(*actions, seed=3):
    """In the world of seed 3 slot 0 leads to node 1, whose slot 0 leads back."""
    game = Prospector(seed=seed)
    for action in actions:
        game.step(action)
    return game


def ended(how):
    """Return a game that ended in one of the five ways."""
    game = after(0, 12)
    if how == "destroyed":
        game.hull = 0.1
        game.step(3)
    elif how == "stranded":
        game.fuel = 1.0
        game.step(7)
    elif how == "both":
        game.fuel = game.hull = 0.1
        game.step(3)
    elif how == "cashed":
        game.credits = 1234.0
        game.step(68)
    elif how == "late":
        game.time_remaining = 1.0
        game.step(6)
    assert game.done
    return game


ENDINGS = {
    "destroyed": "The ship is destroyed.",
    "stranded": "The ship is stranded without fuel.",
    "both": "The ship is destroyed.",
    "cashed": "Cashed out, with 1,234 credits.",
    "late": "Time is up, with 0 credits.",
}


@pytest.mark.parametrize("seed", every(2, range(4)))
def test_hidden_truths_change_nothing(seed):
    for n, game in enumerate(walk(seed)):
        row = row_of(game)
        view, text = ship_view(row, TIME_MAX), render_ansi(row, TIME_MAX)
        picture = render_rgb(row, TIME_MAX) if n % 50 == 49 else None
        for name, value in HIDDEN.items():
            row[name] = value
        assert ship_view(row, TIME_MAX) == view
        assert render_ansi(row, TIME_MAX) == text
        if picture is not None:
            np.testing.assert_array_equal(render_rgb(row, TIME_MAX), picture)


def test_asteroids_of_other_nodes_change_nothing():
    row = row_of(after(0))
    text = render_ansi(row, TIME_MAX)
    others = np.arange(32) != row["current_node"]
    for name in ("comp_est", "stability_est", "scan_conf", "depletion"):
        row[name][others] = 0.25
    assert render_ansi(row, TIME_MAX) == text


@pytest.mark.parametrize("seed", every(2, range(4)))
def test_numbers_in_brackets_are_the_legal_actions(seed):
    for game in walk(seed):
        expected = set() if game.done else {int(a) for a in encoding.valid_actions(game)}
        row = row_of(game)
        assert ship_view(row, TIME_MAX).legal == expected
        text = render_ansi(row, TIME_MAX, color=False)
        numbered = [int(n) for n in re.findall(r"\[(\d+)\]", text)]
        assert len(numbered) == len(set(numbered))
        assert set(numbered) == expected


def test_each_action_has_its_own_name():
    assert len(set(ACTION_NAMES)) == len(ACTION_NAMES) == NUM_ACTIONS
    assert ACTION_NAMES[5] == "travel slot 5"
    assert ACTION_NAMES[27] == "select asteroid 15"
    assert ACTION_NAMES[Action.MINE_STANDARD] == "mine standard"
    assert ACTION_NAMES[38] == "jettison water ice"
    assert ACTION_NAMES[56] == "sell rare isotopes 50%"
    assert ACTION_NAMES[68] == "cash out"
    assert fastenv.prospector.make_game().action_name(8) == "wide scan"


@pytest.mark.parametrize("seed", range(3))
def test_lines_fit_a_terminal(seed):
    for game in walk(seed):
        game.credits, game.total_spend, game.value_lost = 9.9e6, 9.9e6, 9.9e6
        lines = lines_of(game)
        assert max(map(len, lines)) <= 80
        assert not any(line != line.rstrip() for line in lines)


def test_columns_are_aligned():
    lines = lines_of(after(0, 8, 12, 29, 29))
    for block in (lines[8:15], [line[4:] for line in lines if re.search(r"\d%$", line)]):
        assert len(block) > 5
        assert len({len(line.rsplit("[", 1)[0]) for line in block[1:]}) == 1


def test_text_tells_what_a_player_needs():
    game = after(0, 11, 14, 10, 31, 30)
    game.credits = 1234.0
    text = "\n".join(lines_of(game))
    row = row_of(game)
    assert "node 1, cluster · home: 1 hop, 6" in text
    assert "of 20,000 ticks left · 1,234 credits" in text
    assert re.search(rf"^fuel .* {game.fuel:.1f}  ", text, re.M)
    assert re.search(rf"^PGE pge +{row['cargo'][3]:.1f} +{row['price'][3]:.1f} ", text, re.M)
    assert f"{game.repair_kits} repair kits · 1 stabilizer · " in text
    threat = f"{row['edge_threat_est'][1, 3]:.2f}"
    assert re.search(rf"^ \[3\] 22 cluster +1 +\d+ +{threat} +2$", text, re.M)
    stability, conf = (f"{row[name][1, 2]:.2f}" for name in ("stability_est", "scan_conf"))
    assert re.search(rf"\[14\] ► 2 .* {stability}\+ {conf} +\d+%$", text, re.M)
    assert "Mine aggressive, 1 tick: " in text
    assert "worth of the hold +" in " ".join(text.split())


def test_threats_that_nobody_heard_of_are_unknown():
    assert [way.heard for way in ship_view(row_of(after()), TIME_MAX).ways] == [False] * 6
    heard = ship_view(row_of(after(11)), TIME_MAX)
    assert all(way.heard for way in heard.ways)
    own = [edge.threats for edge in heard.edges if 0 in edge.ends]
    assert all(near is not None and far is None for near, far in own)


def test_fuel_is_what_a_way_costs_with_this_load():
    game = after(0)
    before = ship_view(row_of(game), TIME_MAX)
    game.cargo[0] = 100.0
    loaded = ship_view(row_of(game), TIME_MAX)
    for empty, full in zip(before.ways, loaded.ways, strict=True):
        assert full.fuel == pytest.approx(1.25 * empty.fuel)
    fuel = game.fuel
    game.step(0)
    assert fuel - game.fuel == pytest.approx(loaded.ways[0].fuel)
    assert loaded.fuel_home <= loaded.ways[0].fuel


def test_news_tell_what_went_wrong():
    assert "Sell iron 25% was not possible, the ship held for 1 tick" in lines_of(after(0, 43))[2]
    assert "There is no such action, the ship held for 1 tick" in lines_of(after(0, 69))[2]
    game = after(0, 12, 30)
    game.depletion[1, 0] = 1.0
    assert "Asteroid 0 is used up or broken." in "\n".join(lines_of(game))
    game.ev_value_lost = game.value_lost - 12.0
    assert "Pirates took cargo worth 12." in "\n".join(lines_of(game))


def test_a_node_without_a_way_home_says_so():
    game = after(0)
    for row in (game.neighbor, game.edge_time, game.edge_fuel):
        row[:] = -1 if row is game.neighbor else row
    game.steps_to_station[1:] = 31
    view = ship_view(row_of(game), TIME_MAX)
    assert view.fuel_home is None
    assert "no way home" in lines_of(game)[0]
    assert render_rgb(row_of(game), TIME_MAX).std() > 10


@pytest.mark.parametrize("how", ENDINGS)
def test_every_ending_is_told(how):
    game = ended(how)
    text = "\n".join(lines_of(game))
    assert ENDINGS[how] in text
    assert "[" not in text
    other = row_of(game)
    other["done"] = 0
    assert (render_rgb(row_of(game), TIME_MAX) != render_rgb(other, TIME_MAX)).any()


def test_pictures_are_images_and_repeat():
    seen = set()
    for n, game in enumerate(walk(5, steps=60)):
        if n % 15 == 0:
            row = row_of(game)
            picture = render_rgb(row, TIME_MAX)
            assert picture.dtype == np.uint8
            assert picture.shape == (640, 960, 3)
            assert picture.flags.writeable
            assert picture.std() > 10
            np.testing.assert_array_equal(render_rgb(row, TIME_MAX), picture)
            seen.add(picture.tobytes())
    assert len(seen) > 3, "it shows what happens"


@pytest.mark.parametrize("seed", range(12))
def test_nodes_have_a_place_each_on_the_ring_of_their_hops(seed):
    view = ship_view(row_of(Prospector(seed=seed)), TIME_MAX)
    places = place(view.node_hops, tuple(edge.ends for edge in view.edges))
    at = np.array(places)
    gaps = np.hypot(*(at[:, None] - at).transpose(2, 0, 1)) + 9 * np.eye(len(at))
    assert gaps.min() > 0.05
    rings = {}
    for hops, (x, y) in zip(view.node_hops, places, strict=True):
        rings.setdefault(hops, set()).add(round(float(np.hypot(x, y)), 9))
    assert all(len(radii) == 1 for radii in rings.values())
    assert rings[0] == {0.0}


def test_color_changes_no_text():
    row = row_of(after(0, 8, 12, 29))
    colored = render_ansi(row, TIME_MAX)
    assert "\x1b[" in colored
    assert re.sub(r"\x1b\[[\d;]*m", "", colored) == render_ansi(row, TIME_MAX, color=False)


def test_it_can_be_played_in_a_terminal(capsys, monkeypatch):
    from fastenv.__main__ import main

    prompts, answers = [], iter(["?", "9", "0", "68"])

    def answer(prompt):
        prompts.append(prompt)
        return next(answers)

    monkeypatch.setattr("builtins.input", answer)
    assert main(["play", "--env", "Prospector-v0", "--seed", "3"]) == 0
    shown = capsys.readouterr().out
    assert prompts[0].startswith("action 0-8, 11, 32-60, 68 ")
    assert "8 (wide scan)" in shown
    assert "not a legal action now: 9 (focused scan)" in shown
    assert "Travel slot 0, 4 ticks" in shown
    assert "Cashed out, with 0 credits." in shown
