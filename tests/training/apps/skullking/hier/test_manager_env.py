"""The Manager's environment against the engine's own Manager, and against games lane by lane."""

import numpy as np

from fastenv.skullking import encoding
from fastenv.skullking.rewards import manager_shaped
from fastenv.skullking.tables import Phase
from tests.slow import diagonal
from tests.tables import walk
from training.apps.skullking.hier.manager_env import GoalLanes, ManagerEnv
from training.players.bots import Bot
from training.players.network import seen_by, shown
from training.run.envs import make_engine
from training.selfplay.seated import SeatedEngine

WORKER, FLAT, MANAGER = (f"SkullKing{tier}-v0" for tier in ("Worker", "Flat", "Manager"))
VARIANTS = [
    {},
    {"opponents": "mixed", "round_weights": "uniform"},
    {"num_players": 2, "opponents": "random"},
    {"num_players": 6, "opponents": "heuristic", "agent_seat": "rotate"},
    {"opponents": "rule_easy", "tigress": "agent", "abilities": "auto", "scoring": "rascal"},
]


def manager_env(mode, cards, n, options=None, reward="shaped", **how):
    options = options or {}
    inside = {**options, "goal_mode": "manager"}
    engine = make_engine(FLAT if mode == "game" else WORKER, n, inside, **how)
    return ManagerEnv(engine, make_engine(MANAGER, 1, options), cards, reward)


def random_bids(rng, cards):
    return (rng.random(len(cards)) * (cards + 1)).astype(np.int32)


@walk("options", VARIANTS)
def test_a_manager_sees_nothing_of_the_round_to_come(options):
    n, rng = 64, np.random.default_rng(3)
    worker = make_engine(WORKER, n, {**options, "goal_mode": "manager"})
    manager, observer = make_engine(MANAGER, n, options), make_engine(MANAGER, 1, options)
    worker.reset_many(seeds=11)
    manager.reset_many(seeds=11)
    rows = worker.get_states()
    assert (rows["table_len"] > 0).any()  # somebody has played, which a Manager must not know
    np.testing.assert_array_equal(observer.encode_obs_many(rows, trusted=True), manager.obs)
    rows["bid"][:, : worker.game.config.num_players] = random_bids(rng, rows["cards"])[:, None]
    np.testing.assert_array_equal(observer.encode_obs_many(rows, trusted=True), manager.obs)


@walk(("options", "reward", "mode"), diagonal(VARIANTS, ["shaped", "points"], ["round", "game"]))
def test_with_rule_cards_it_is_the_manager_tier_bit_for_bit(mode, reward, options):
    n, rng = 16, np.random.default_rng(5)
    ours = manager_env(mode, None, n, options, reward)
    theirs = make_engine(MANAGER, n, {**options, "mode": mode, "reward": reward})
    ours.reset_many(seeds=21)
    theirs.reset_many(seeds=21)
    for _ in range(23):
        np.testing.assert_array_equal(ours.obs, theirs.obs)
        np.testing.assert_array_equal(ours.mask, theirs.mask)
        bids = random_bids(rng, theirs.info["cards"])
        ours.step_many(bids)
        theirs.step_many(bids)
        for name in ("reward", "terminated", "truncated"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), name)
        done = ours.terminated != 0
        np.testing.assert_array_equal(ours.ep_length[done], theirs.ep_length[done])
        np.testing.assert_array_equal(ours.ep_return[done], theirs.ep_return[done])
        for name in ("ended_round", "ended_cards", "ended_bid", "ended_won"):
            both = [np.where(done, e.final_info[name], e.info[name]) for e in (ours, theirs)]
            np.testing.assert_array_equal(*both, name)
        for name in ("reward_shaped", "reward_points", "reward_points_rank"):
            np.testing.assert_array_equal(ours.info[name], theirs.info[name], name)


class Twin:
    """One lane, with the reference game and nothing batched."""

    def __init__(self, env, options, seed, partner):
        knobs = {"goal_mode": "manager"}
        self.game_of = make_engine(env, 1, {**options, **knobs}, backend="reference").game
        self.worker = make_engine(WORKER, 1, options, backend="reference").game
        self.partner, self.env = partner, env
        self.game = self.game_of.create()
        self.game.reset(seed)

    def play(self, wanted):
        """Bid, play the round, return bid, won, points, cards played and reward; deal anew."""
        game, played = self.game, 0
        if self.env == FLAT:
            game.step(wanted)
        else:
            game.bid[game.agent] = wanted
        while True:
            seen = self.worker.unpack(self.game_of.pack(game))
            obs = np.empty((1, *self.worker.spec.obs_shape), np.float32)
            mask = np.zeros((1, 11), np.uint8)
            encoding.encode_obs(seen, obs[0])
            mask[0, game.legal_actions()] = 1
            game.step(int(self.partner.choose(obs, mask)[0]))
            played += 1
            if game.ev_round:
                break
        found = (game.ev_bid, game.ev_won, game.ev_points, played, manager_shaped(game))
        if game.done:
            game.reset()
        return found


@walk(
    ("options", "mode"),
    diagonal([VARIANTS[1], VARIANTS[4], {"obs_ext": "memory"}], ["round", "game"]),
)
def test_worker_plays_the_rounds_of_games_lane_by_lane(mode, options, rigid):
    n, rng = 5, np.random.default_rng(7)
    sight = seen_by(WORKER, options) if mode == "game" else shown
    partner = rigid(make_engine(WORKER, 1, options).obs_shape[0], sight)
    plain = {k: v for k, v in options.items() if k != "obs_ext"}
    inside = {**options, "goal_mode": "manager"}
    env = FLAT if mode == "game" else WORKER
    ours = ManagerEnv(make_engine(env, n, inside), make_engine(MANAGER, 1, plain), partner)
    twins = [Twin(env, options, 31 + lane, partner) for lane in range(n)]
    ours.reset_many(seeds=31)
    for _ in range(12):
        bids = random_bids(rng, ours.mask.sum(1) - 1)
        ours.step_many(bids)
        found = [twin.play(int(bid)) for twin, bid in zip(twins, bids, strict=True)]
        bid, won, points, played, shaped = map(np.array, zip(*found, strict=True))
        np.testing.assert_array_equal(ours.info["ended_bid"], bid)  # Harry may have changed it
        np.testing.assert_array_equal(ours.info["ended_won"], won)
        np.testing.assert_array_equal(ours.tau, 1 + played)
        np.testing.assert_array_equal(ours.reward, shaped.astype(np.float32))
        np.testing.assert_array_equal(ours.info["reward_points"], (points / 10).astype(np.float32))


def test_only_lanes_that_play_are_asked_for_a_card(rigid):
    asked = []

    class Counting(rigid):
        def choose(self, obs, mask):
            asked.append(len(obs))
            return super().choose(obs, mask)

    env = manager_env("round", Counting(203), 32, {"round_weights": "uniform"})
    env.reset_many(seeds=1)
    cards = env.engine.info["cards"].copy()
    env.step_many(np.zeros(32, np.int32))
    assert asked == [(cards > k).sum() for k in range(cards.max())]


def test_state_of_a_manager_env_goes_on_exactly(rigid):
    envs = [manager_env("round", rigid(203), 8) for _ in range(2)]
    rng = np.random.default_rng(9)
    envs[0].reset_many(seeds=4)
    envs[0].step_many(random_bids(rng, envs[0].mask.sum(1) - 1))
    envs[1].set_state(None, envs[0].get_state())
    bids = random_bids(rng, envs[0].mask.sum(1) - 1)
    for env in envs:
        env.step_many(bids)
    for name in ("obs", "mask", "reward", "ep_return"):
        np.testing.assert_array_equal(getattr(envs[0], name), getattr(envs[1], name))


def test_knobs_reach_the_rounds():
    env = manager_env("round", None, 16)
    env.configure("allowed_phases", ["early"])
    env.reset_many(seeds=2)
    assert set(np.unique(env.engine.info["round"])) <= {1, 2, 3}
    assert (env.engine.info["decision_phase"] == Phase.PLAY).all()


# -- whose goals the Worker's lanes play to --------------------------------------------------------


N, SEED = 40, 17
RULES = {"tigress": "agent"}  # else her mode would depend on the goal


def lanes_of(rigid, manager_bids=True):
    observer = make_engine("SkullKingManager-v0", 1, RULES)
    worker = make_engine("SkullKingWorker-v0", N, RULES)
    engine = SeatedEngine(worker, Bot("rule_hard", worker))
    goals = GoalLanes(engine, observer, rigid(171))
    goals.divide(manager_bids)
    return goals, engine


@walk(("manager_bids", "sizes"), [(True, (20, 10, 10)), (False, (0, 20, 20))])
def test_lanes_are_divided_by_the_sources(rigid, manager_bids, sizes):
    goals, engine = lanes_of(rigid, manager_bids)
    assert tuple(map(len, goals.lanes.values())) == sizes
    np.testing.assert_array_equal(np.concatenate(list(goals.lanes.values())), np.arange(N))
    for source, lanes in goals.lanes.items():
        assert engine.get_knob("goal_mode", lanes) == [source] * len(lanes)


def test_manager_bids_in_its_lanes_and_changes_nothing_else(rigid):
    """Beside an engine without a Manager: same deals, other goals in its lanes, nothing else."""
    goals, ours = lanes_of(rigid)
    theirs = make_engine("SkullKingWorker-v0", N, RULES)
    for source, lanes in goals.lanes.items():
        theirs.configure("goal_mode", source, lanes)
    manager, observer = rigid(171), make_engine("SkullKingManager-v0", 1, RULES)
    bidding = np.isin(np.arange(N), goals.lanes["manager"])
    rng = np.random.default_rng(SEED)
    obs, mask = ours.obs.copy(), ours.mask.copy()
    for engine, out in ((ours, {"obs_out": obs, "mask_out": mask}), (theirs, {})):
        engine.reset_many(seeds=SEED, **out)
    ended = paid = 0
    for step in range(30):
        if step:
            # any legal card: hands, and so what is legal, do not depend on the goal
            actions = np.where(mask != 0, rng.random(mask.shape), -1).argmax(1)
            ours.step_many(actions, obs_out=obs, mask_out=mask)
            theirs.step_many(actions)
            for name in ("terminated", "truncated", "ep_length"):
                np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name), name)
            np.testing.assert_array_equal(ours.reward[~bidding], theirs.reward[~bidding])
            ended += int(ours.terminated[bidding].sum())
            paid += int((ours.reward[bidding & (ours.terminated != 0)] != 0).sum())
        rows, plain = ours.get_states(), theirs.get_states()
        np.testing.assert_array_equal(rows[~bidding], plain[~bidding])
        for name in ("hand", "stock", "bots", "round_idx", "first_leader", "table_card", "rng"):
            np.testing.assert_array_equal(rows[name], plain[name], name)
        expected = ours.encode_obs_many(rows)
        np.testing.assert_array_equal(obs, expected)
        fresh = np.flatnonzero(bidding & (rows["tricks"] == 0))
        legal = (np.arange(11) <= rows["cards"][fresh, None]).astype(np.uint8)
        bids = manager.choose(observer.encode_obs_many(rows[fresh], trusted=True), legal)
        np.testing.assert_array_equal(ours.info["bid"][fresh], bids)
    assert ended > 20  # rounds that the Manager has bid were played to their ends
    assert paid > ended / 2  # the bid for the next round does not clear what the last one paid
