"""All backends of Dr. Mario give the same bits: frames and placements, one player and two."""

import numpy as np
import pytest

from fastenv.drmario import make_game, random_options
from fastenv.drmario import tables as t
from fastenv.drmario.bots import NAMES
from fastenv.drmario.layout import AUX_SIZE, OBS_DTYPES, OBSERVATIONS
from fastenv.engine import BatchEngine, rng_streams
from fastenv.verify import Case, first_difference
from tests.drmario.boards import Narrow
from tests.needs import HAS_CORE, needs_core
from tests.slow import late, together
from tests.tables import walk

pytestmark = pytest.mark.parity
KINDS = [(1, False), (1, True), (2, False), (2, True)]
ENGINES = {name: (name, 1) for name in ("reference", "numba", "cython", "fast")}
if not HAS_CORE:
    ENGINES = {name: ENGINES[name] for name in ("reference", "numba")}
else:
    ENGINES |= {"fast with 2 threads": ("fast", 2)}


ALL_BOTS = [
    (False, "random"),
    *together(((True, name) for name in NAMES if name not in t.LOOKING_AHEAD), 2),
    *(pytest.param(True, name, marks=pytest.mark.slow) for name in t.LOOKING_AHEAD),
]


def game_of(seed, agents, placement, **changes):
    """Return a game of random options."""
    fixed = {"agents": agents, "placement": placement}
    options = random_options(np.random.default_rng([seed, 1]), **fixed) | changes
    return make_game(**fixed, **options), options


@walk(
    ("agents", "placement", "opponent"),
    [
        *((1, placement, None) for placement in (False, True)),
        (2, True, "external"),
        *late(*together((2, placement, None) for placement in (False, True)), drawn=True),
        *late(*together([(2, False, "external"), (2, True, "random")]), drawn=True),
        *late(*together([(2, False, "random")])),
    ],
)
@walk("number", [1, *late(4)])
def test_backends_give_the_same_bits(agents, placement, opponent, number):
    frames, placements = (60, 15) if number > 1 else (30, 8)
    for seed in range(number):
        game, options = game_of(seed, agents, placement)
        case = Case(game, seed, 3, ENGINES, options, opponent)
        assert case.check() is None
        for _ in range(placements if placement else frames):
            difference = case.advance()
            assert difference is None, str(difference)


def hand_made(rows, rng, placement):
    """Give rows boards full of halves and viruses; in games of frames they are about to settle."""
    boards = rows["players"]["board"]
    tiles = rng.choice([t.Tile.SINGLE, t.Tile.VIRUS], boards.shape, p=[0.7, 0.3])
    tiles |= rng.integers(0, 3, boards.shape)
    full = (rng.random(boards.shape) < 0.5) & (np.arange(t.CELLS) >= 32)
    boards[...] = np.where(full, tiles, t.EMPTY)
    if not placement:
        rows["players"]["mode"], rows["players"]["intro_wait"] = t.Mode.PLAYING, 0
        rows["players"]["next_action"] = t.Next.PLACED
    rows["players"]["virus_bcd"] = rng.integers(1, 9, rows["players"]["virus_bcd"].shape)
    return rows


def step_alike(engines, agents, seed):
    """Take a step that the random bot chooses, and compare."""
    words = [rng_streams(seed + k, engines[0].num_envs) for k in range(agents)]
    chosen = [engines[0].bot_actions("random", words[k], agent=k) for k in range(agents)]
    actions = np.stack(chosen, axis=1) if agents == 2 else chosen[0]
    for engine in engines:
        engine.step_many(actions)
    for engine in engines[1:]:
        assert first_difference(engines[0], engine) is None, seed


HANDICAP = {"level": (3, 17), "speed": ("low", "high")}


@needs_core
@pytest.mark.parametrize(("agents", "placement"), together(KINDS, 3))
def test_hand_made_boards_go_on_alike(agents, placement):
    """Boards full of halves and viruses, loaded into every backend, and played on."""
    rng = np.random.default_rng(4)
    both = HANDICAP if agents == 2 else {"speed": "high"}
    game = make_game(agents=agents, placement=placement, stack=1, obs="bitplane", **both)
    engines = [BatchEngine(game, 4, name) for name in ENGINES if "threads" not in name]
    for engine in engines:
        engine.reset_many(seeds=3)
    rows = hand_made(engines[0].get_states(), rng, placement)
    for engine in engines:
        engine.set_states(rows)
    for step in range(6 if placement else 45):
        step_alike(engines, agents, 100 * step)


@needs_core
@pytest.mark.parametrize("placement", [False, True])
def test_every_observation_of_two_players(placement):
    """On hand-made boards, of players with different levels and speeds, before and after a step."""
    names = [name for name in OBSERVATIONS if placement or "mask" not in name]
    extras = ("pill", "aux_vs", "costs", "candidates") if placement else ("pill", "aux_vs")
    rng, rows = np.random.default_rng(6), None
    for number, name in enumerate(names):
        shown = {"obs": name, "obs_dtype": OBS_DTYPES[number % 2], "extras": extras, "stack": 1}
        game = make_game(agents=2, placement=placement, **HANDICAP, **shown)
        engines = [BatchEngine(game, 2, backend) for backend in ENGINES if "threads" not in backend]
        if rows is None:
            engines[0].reset_many(seeds=5)
            rows = hand_made(engines[0].get_states(), rng, placement)
            rows["players"]["attack_size"] = [[0, 3], [5, 1]]
        for engine in engines:
            engine.set_states(rows)
            assert first_difference(engines[0], engine) is None, name
        assert engines[0].obs["aux"][:, 0, AUX_SIZE + 1].tolist() == [3 / 4, 1 / 4]  # coming
        step_alike(engines, 2, 7)


@needs_core
@walk(("placement", "opponent"), ALL_BOTS)
def test_a_bot_plays_against_one_agent_alike(placement, opponent):
    fixed = {"level": (24, 20), "speed": ("high", "medium")}
    game, options = game_of(3, 2, placement, **fixed)
    case = Case(Narrow(game.config), 3, 2, ENGINES, options, opponent)
    for _ in range(6 if placement else 30):
        difference = case.advance()
        assert difference is None, str(difference)
