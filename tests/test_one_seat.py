"""An engine that shows one seat at a time, beside the same game played by hand."""

import copy
import pickle

import numpy as np
import pytest

import fastenv
from fastenv.engine import BatchEngine
from tests.api.short import PLANES
from tests.by_hand import Lane, bits, shown_by
from tests.needs import needs_core
from tests.race import BACKENDS, HERE, everything
from tests.ring import RingGame
from tests.slow import diagonal, every
from tests.tables import walk
from tests.toy import RaceGame, WalkGame

N = 5
GAMES = {
    "race": lambda: RaceGame(goal=9),
    "race that raises": lambda: RaceGame(goal=9, raise_illegal=True),
    "ring in turns": lambda: RingGame("turns", stones=14),
    "ring together": lambda: RingGame("together", stones=16),
    "ring mixed": lambda: RingGame("mixed", stones=20),
    "ring mixed that plays on": lambda: RingGame("mixed", stones=20, raise_illegal=False),
    "ring that ends early": lambda: RingGame("turns", stones=14, poison=12),
}
SEATINGS = {
    2: {
        "a bot": (["random"], 0),
        "a bot, second seat": (["fast"], 1),
        "a bot, rotating": (["random"], "rotate"),
        "outside": (["external"], 0),
        "outside, second seat": (["external"], 1),
        "outside, rotating": (["external"], "rotate"),
    },
    3: {
        "bots": (["random", "greedy"], 0),
        "bots, last seat": (["shy", "random"], 2),
        "bots, rotating": (["random", "random"], "rotate"),
        "one outside": (["random", "external"], 0),
        "other one outside, second seat": (["external", "greedy"], 1),
        "one outside, rotating": (["external", "random"], "rotate"),
        "all outside": (["external", "external"], 0),
        "all outside, rotating": (["external", "external"], "rotate"),
    },
}
BOTS = {2: ("random", "slow", "external"), 3: ("random", "greedy", "external")}
EVENTS = ("reset", "seeds", "load", "opponents", "copy", "hand over", "shared", "elsewhere", "some")
# Every event happens within the first; the second goes through them again and again.
FEW, MANY = 3 * len(EVENTS), 70


def cases():
    """Yield game, seating and steps: few steps in each eighth case, and the slow many in all."""
    for name, make in GAMES.items():
        for k, seating in enumerate(SEATINGS[make().spec.num_agents]):
            case = f"{name}, {seating}"
            if (k + len(name)) % 8 == 0:
                yield pytest.param(name, seating, FEW, id=f"{case}, {FEW}")
            yield pytest.param(name, seating, MANY, id=f"{case}, {MANY}", marks=pytest.mark.slow)


def assert_alike(engine, lanes, where):
    for i, lane in enumerate(lanes):
        ours, theirs = shown_by(engine, i), lane.shown()
        assert ours.keys() == theirs.keys()
        for name, value in theirs.items():
            assert bits(ours[name]) == bits(value), (where, i, name, ours[name], value)


class Table:
    """An engine, and its lanes by hand, led through the same events."""

    def __init__(self, game, opponents, agent_seat, backend, seed, by_hand="reference"):
        self.rng = np.random.default_rng(seed)
        names = opponents[0] if len({*opponents}) == 1 else opponents
        self.engine = BatchEngine(game, N, backend, opponent=names, agent_seat=agent_seat)
        self.lanes = [Lane(game, i, opponents, agent_seat, by_hand) for i in range(N)]
        self.engine.reset_many(seeds=seed)
        for i, lane in enumerate(self.lanes):
            lane.reset(seed + i)
        self.stash = [self.engine.get_states()]

    def actions(self):
        engine, legal = self.engine, self.engine.mask * self.rng.random(self.engine.mask.shape)
        actions = legal.argmax(1)
        if engine.spec.illegal_actions == "play":
            wild = self.rng.random(N) < 0.1
            actions[wild] = self.rng.integers(0, engine.num_actions, wild.sum())
        return actions

    def step(self, autoreset=True, select=None):
        select = np.ones(N, bool) if select is None else select
        actions = self.actions()
        self.engine.step_many(actions, select=select, autoreset=autoreset)
        for i, lane in enumerate(self.lanes):
            if select[i]:
                lane.step(actions[i], autoreset)
            else:
                tau = lane.tau
                lane.forget()
                lane.tau = tau

    def do(self, event):
        engine, rng, some = self.engine, self.rng, self.rng.random(N) < 0.5
        if event == "reset":
            engine.reset_many(mask=some)
            self.each(some, lambda i, lane: lane.reset())
        elif event == "seeds":
            seeds = [int(s) if s % 3 else None for s in rng.integers(0, 99, N)]
            engine.reset_many(mask=some, seeds=seeds)
            self.each(some, lambda i, lane: lane.reset(seeds[i]))
        elif event == "load":
            rows = np.concatenate(self.stash)
            rows = rows[rng.permutation(len(rows))[:N]]
            engine.set_states(rows[some], some)
            for i in np.flatnonzero(some):
                self.lanes[i].load(rows[i])
        elif event == "opponents":
            known = BOTS[engine.spec.num_agents]
            names = [known[k] for k in rng.integers(0, len(known), engine.spec.num_agents - 1)]
            engine.configure("opponent", names if rng.random() < 0.7 else names[0], some)
            alike = engine.get_knob("opponent", some)
            for i in np.flatnonzero(some):
                self.lanes[i].chosen = _listed(alike[0], len(names))
        elif event == "copy":
            self.engine = (copy.deepcopy, copy.copy, _pickled)[rng.integers(3)](engine)
        elif event == "hand over":
            self._hand_over()
        elif event == "shared":
            engine.set_shared(self._shared())
        elif event == "elsewhere":
            self._step_elsewhere()
        else:
            self.step(autoreset=False, select=some & ~engine.ended)

    def each(self, some, do):
        for i, lane in enumerate(self.lanes):
            if some[i]:
                lane.forget()
                do(i, lane)

    def _hand_over(self):
        """Go on in an engine on another backend, made with other players."""
        old = self.engine
        others = "external" if old.opponent != "external" else BOTS[old.spec.num_agents][0]
        backend = HERE[self.rng.integers(len(HERE))]
        new = BatchEngine(old.game, N, backend, opponent=others, agent_seat=old.agent_seat)
        new.configure("limit", 90) if old.spec.num_agents == 2 else None
        new.set_states(old.get_states())
        new.set_seating(old.get_seating())
        self.engine = new
        for lane in self.lanes:  # the last step is no part of the seating
            lane.forget()

    def _shared(self):
        shared = self.engine.game.shared.copy()
        if "bonus" in shared.dtype.names:
            shared["bonus"] = self.rng.integers(1, 9) / 4
        else:
            shared["stones"] = self.rng.integers(12, 20)
        for lane in self.lanes:
            lane.engine.set_shared(shared)
            lane.forget()
        return shared

    def _step_elsewhere(self):
        if self.engine.ended.any():
            return
        engine, actions = self.engine, self.actions()
        obs, mask = np.zeros_like(engine.obs), np.zeros_like(engine.mask)
        engine.step_many(actions, obs, mask)
        for i, lane in enumerate(self.lanes):
            lane.step(actions[i], True)
            assert bits(obs[i]) == bits(lane.shown()["obs"])
            assert bits(mask[i]) == bits(lane.shown()["mask"])
        engine.refresh()


def _pickled(engine):
    return pickle.loads(pickle.dumps(engine))


def _listed(name, count):
    return [name] * count if isinstance(name, str) else [*name]


def play(table, steps, events=EVENTS):
    """Lead a table through steps and events, compare after each; return how many episodes ended."""
    assert_alike(table.engine, table.lanes, "reset")
    ends = 0
    for step in range(steps):
        event = events[step // 3 % len(events)] if events and step % 3 == 2 else "step"
        if table.engine.ended.any() and event == "step":
            over = table.engine.ended.copy()
            table.engine.reset_many(mask=over)
            table.each(over, lambda i, lane: lane.reset())
        elif event == "step":
            table.step(autoreset=step % 4 > 0)
        else:
            table.do(event)
        assert_alike(table.engine, table.lanes, (step, event))
        ends += int((table.engine.terminated | table.engine.truncated).sum())
        if step % 5 == 0:
            table.stash.append(table.engine.get_states())
    return ends


@walk(("game", "seating", "steps", "backend"), diagonal(cases(), BACKENDS))
def test_it_is_the_game_by_hand(game, seating, backend, steps):
    made = GAMES[game]()
    opponents, agent_seat = SEATINGS[made.spec.num_agents][seating]
    assert play(Table(made, opponents, agent_seat, backend, 5), steps)


@needs_core
@pytest.mark.parametrize(
    ("env_id", "seating"),
    diagonal(["DrMarioVersus-v0", "DrMarioVersusFrame-v0"], every(2, SEATINGS[2])),
)
def test_so_is_a_real_one(env_id, seating):
    """Placements are decided now by one player and now by both, frames always by both."""
    options = {} if "Frame" not in env_id else PLANES | {"intro_frames": 1}
    game = fastenv.make_game(env_id, level=20, speed="high", task_max_frames=900, **options)
    opponents, agent_seat = SEATINGS[2][seating]
    opponents = ["random" if name == "fast" else name for name in opponents]
    table = Table(game, opponents, agent_seat, "fast", 3, by_hand="fast")
    ends = play(table, 80, ("reset", "load", "copy"))
    assert ends or "Frame" in env_id


# -- by hand ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("backend", BACKENDS)
def test_seats_that_act_together_are_asked_the_learner_first_and_then_the_game_moves(backend):
    engine = BatchEngine(
        RingGame("together"), 2, backend, opponent=["external", "external"], agent_seat=1
    )
    engine.reset_many(seeds=1)
    rows = engine.get_states()
    for seat, action in ((1, 1), (2, 1), (0, 2)):
        assert engine.get_actors().tolist() == [seat] * 2
        assert engine.get_places().tolist() == [(seat - 1) % 3] * 2
        assert np.array_equal(engine.obs, engine.seat_obs[:, seat])
        assert np.array_equal(engine.obs, engine.encode_obs_many(rows, seat=seat))
        assert np.array_equal(engine.get_states(), rows)
        assert not engine.seat_reward.any()
        engine.step_many(np.full(2, action))
    assert (engine.get_states()["gain"] == (2, 1, 1)).all()
    paid = np.array([0.3 * gain - 0.1 * 4 for gain in (2, 1, 1)], np.float32)
    assert (engine.seat_reward == paid).all()
    assert (engine.reward == paid[1]).all()
    assert engine.get_actors().tolist() == [1] * 2


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_answer_is_pending_until_all_have_answered_and_can_be_told(backend):
    """By ``get_seating``, with which another engine goes on; without it the seat is asked again."""
    options = {"opponent": ["external", "external"], "agent_seat": 2}
    engine, other = (BatchEngine(RingGame("together"), 2, backend, **options) for _ in "ab")
    engine.reset_many(seeds=1)
    engine.step_many([1, 2])
    seating = engine.get_seating()
    assert seating["answered"].tolist() == [[False, False, True]] * 2
    assert seating["given"].tolist() == [[0, 0, 1], [0, 0, 2]]
    other.set_states(engine.get_states())
    assert other.get_actors().tolist() == [2, 2]
    other.set_seating(seating)
    assert other.get_actors().tolist() == [0, 0]
    assert np.array_equal(other.obs, engine.obs)
    for answers in ([1, 1], [0, 1]):
        for one in (engine, other):
            one.step_many(answers)
    assert np.array_equal(engine.get_states(), other.get_states())
    assert engine.get_states()["taken"].tolist() == [[1, 0, 1], [1, 1, 2]]


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_illegal_answer_is_refused_in_the_name_of_its_seat(backend):
    game = RingGame("together", stones=5)
    engine = BatchEngine(game, 2, backend, opponent=["external", "random"], agent_seat=1)
    engine.reset_many(seeds=1)
    rows = engine.get_states()
    rows["pile"], rows["secret"] = 2, 0
    engine.set_states(rows)
    for seat in (1, 2):
        before = everything(engine), engine.get_actors().tolist()
        with pytest.raises(fastenv.InvalidActionError) as refused:
            engine.step_many([2, 3])
        says = f"lane 1, agent {seat}: action 3 is illegal in phase a decision, legal are [0, 1, 2]"
        assert str(refused.value) == says
        with pytest.raises(fastenv.InvalidActionError, match=f"^lane 0, agent {seat}: action 4 is"):
            engine.step_many([4, 0])
        assert (everything(engine), engine.get_actors().tolist()) == before
        engine.step_many([0, 0])


def test_whose_observation_is_asked_for():
    engine = BatchEngine(RingGame(), 4, opponent="random", agent_seat=1)
    engine.reset_many(seeds=1)
    rows, shown = engine.get_states(), engine.seat_obs
    assert np.array_equal(engine.encode_obs_many(), shown[:, 1])
    assert np.array_equal(engine.encode_obs_many(rows), shown[:, 0])
    assert np.array_equal(engine.encode_obs_many(seat=2), shown[:, 2])
    each = np.array([0, 2, 1, 1])
    assert np.array_equal(engine.encode_obs_many(rows, seat=each), shown[range(4), each])
    for seat in (3, -1, 1.0, True, [0, 1], "first", 2**70, np.nan, [[0]] * 4):
        with pytest.raises(ValueError, match=r"^seat=.*: must be 0\.\.2, or 4 such numbers$"):
            engine.encode_obs_many(rows, seat=seat)
    with pytest.raises(ValueError, match=r"^seat=1: this engine has no opponent"):
        BatchEngine(RingGame(), 4).encode_obs_many(rows, seat=1)


@pytest.mark.parametrize("name", ["seat_obs", "seat_reward"])
def test_all_seats_are_shown_where_the_row_has_an_entry_an_agent(name):
    plain = BatchEngine(RingGame(), 2)
    assert getattr(plain, name) is getattr(plain, name.removeprefix("seat_"))
    with pytest.raises(fastenv.ConfigError, match=f"^{name}: rows of this game have no entry"):
        getattr(BatchEngine(WalkGame(), 2), name)


# -- refusals --------------------------------------------------------------------------------------

NO_SEATS = (1.5, True, -1, 3, 2**70, float("nan"), "second", None, [0], np.array([0, 1]), 0.0)
NO_PLAYERS = (
    "x",
    "",
    ["random"],
    ["x", "random"],
    ["random"] * 3,
    [],
    [["external"]] * 2,
    [None] * 2,
)
NO_NAMES = (3, b"random", {"random"}, float("nan"), True, 2**70)


def one_sentence(refused):
    text = str(refused.value)
    return "\n" not in text and len(text) < 250


@walk("seat", NO_SEATS, ids=repr)
def test_a_seat_that_there_is_not_is_refused(seat):
    with pytest.raises(
        fastenv.ConfigError, match=r"^agent_seat=.*: must be 'rotate' or a seat"
    ) as no:
        BatchEngine(RingGame(), 2, opponent="random", agent_seat=seat)
    assert one_sentence(no)
    with pytest.raises(fastenv.ConfigError, match=r"^agent_seat=.*: must be 0 without an opponent"):
        BatchEngine(RingGame(), 2, agent_seat=seat)


@walk("players", [*NO_PLAYERS, *NO_NAMES], ids=repr)
def test_players_that_there_are_not_are_refused(players):
    with pytest.raises(fastenv.ConfigError, match=r"^opponent") as no:
        BatchEngine(RingGame(), 2, opponent=players)
    assert one_sentence(no)
    engine = BatchEngine(RingGame(), 2, opponent="greedy")
    with pytest.raises(fastenv.ConfigError, match=r"^opponent") as no:
        engine.configure("opponent", players)
    assert one_sentence(no)
    assert engine.get_knob("opponent") == ["greedy"] * 2


def test_a_bot_that_a_game_does_not_list_has_no_number():
    game = RingGame()
    game.bot_names = ("random",)
    game.bot = lambda name: RingGame().bot(name)
    with pytest.raises(fastenv.ConfigError, match="bot 'shy': must be among the game's bot_names"):
        BatchEngine(game, 2, opponent="shy")


def test_players_are_configured_and_told_lane_by_lane():
    engine = BatchEngine(RingGame(), 3, opponent=["shy", "external"])
    engine.configure("opponent", np.array(["random", "greedy"]), [1])
    engine.configure("opponent", ("external", "external"), [2])
    assert engine.get_knob("opponent") == [("shy", "external"), ("random", "greedy"), "external"]
    assert engine.has_outside().tolist() == [True] * 3
    engine.reset_many(seeds=1)
    assert engine.has_outside().tolist() == [True, False, True]


@walk(
    ("changes", "says"),
    [
        ({"agent": 3}, r"^agent=3: must be 0\.\.2$"),
        ({"agent": -1}, r"^agent=-1: must be 0\.\.2$"),
        ({"agent": 2}, "^players: that of the learner's seat must be -1$"),
        ({"players": 3}, r"^players=3: must be -1\.\.2$"),
        ({"opponents": -2}, r"^opponents=-2: must be -1\.\.2$"),
        ({"decisions": -1}, r"^decisions=-1: must be 0\.\."),
        ({"given": 4}, r"^given=4: must be 0\.\.3$"),
        ({"answered": True}, "^answered: seat 0 of lane 0 cannot have answered 0$"),
        ({"who": 0}, "^seating: 'who' must be one of decisions, agent, players, opponents"),
        ({"agent": None}, "^agent must be a NumPy array, got NoneType$"),
        ({"agent": 0.5}, r"^agent must be int32 of shape \(2,\), got float64"),
    ],
)
def test_a_seating_that_is_not_possible_is_refused(changes, says):
    engine = BatchEngine(RingGame("turns"), 2, opponent=["random", "external"], agent_seat=1)
    engine.reset_many(seeds=1)
    seating, before = engine.get_seating(), everything(engine)
    for name, value in changes.items():
        if value is None or name == "who":
            wrong = value
        elif isinstance(value, float):
            wrong = np.full(2, value)
        else:
            wrong = np.full_like(seating[name], value)
        with pytest.raises(ValueError, match=says):
            engine.set_seating(seating | {name: wrong})
    assert everything(engine) == before
    assert bits_of(engine.get_seating()) == bits_of(seating)
    with pytest.raises(ValueError, match=r"^seating must map names to arrays, got list$"):
        engine.set_seating([])


def test_an_answer_that_is_illegal_now_is_none():
    engine = BatchEngine(RingGame("together"), 1, opponent="external")
    engine.reset_many(seeds=1)
    rows = engine.get_states()
    rows["pile"] = 1
    engine.step_many([2])
    seating = engine.get_seating()
    engine.set_states(rows)
    with pytest.raises(ValueError, match=r"^answered: seat 0 of lane 0 cannot have answered 2$"):
        engine.set_seating(seating)


def bits_of(seating):
    return {name: array.tobytes() for name, array in seating.items()}
