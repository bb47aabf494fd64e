"""One lane of a game of several agents, shown one seat at a time, by hand.

It is what ``fastenv/one_seat.py`` must agree with: plain loops around an engine of one lane that
shows all agents.
"""

import numpy as np

from fastenv.engine import BatchEngine


class Lane:
    """A lane with players in its seats, moved decision by decision.

    Parameters
    ----------
    game : Game
    lane : int
        Its number, by which a learner's seat that rotates begins.
    opponents : list of str
        Of the seats after the learner's.
    agent_seat : int or "rotate"
    """

    def __init__(self, game, lane, opponents, agent_seat, backend="reference"):
        self.engine = BatchEngine(game, 1, backend)
        self.lane, self.count = lane, game.spec.num_agents
        self.rotates = agent_seat == "rotate"
        self.agent = lane % self.count if self.rotates else agent_seat
        self.chosen = [*opponents]
        self.decisions, self.answers, self.ended = 0, {}, True
        self.forget()
        self.seat_players()

    def seat_players(self):
        self.players = ["external"] * self.count
        for j, name in enumerate(self.chosen, 1):
            self.players[(self.agent + j) % self.count] = name

    def forget(self):
        """Nothing has been stepped yet."""
        engine = self.engine
        self.reward = engine.reward.dtype.type(0)
        self.paid = np.zeros_like(engine.reward[0])
        kinds = engine.terms.dtype
        self.terms = {name: kinds[name].type(0) for name in kinds.names or ()}
        self.terminated = self.truncated = 0
        self.tau = 0 if engine.spec.has_tau else 1

    def order(self):
        return [(self.agent + j) % self.count for j in range(self.count)]

    def asked(self):
        """Return the seats from outside that must answer, the learner's first."""
        needs = self.engine.needs_action()[0]
        free = [k for k in self.order() if needs[k] and self.players[k] == "external"]
        return [k for k in free if k not in self.answers]

    @property
    def actor(self):
        asked = [] if self.ended else self.asked()
        return asked[0] if asked else self.agent

    def advance(self):
        """Step the game once, with the answers and the actions of bots."""
        actions = [self.answers.get(k, 0) for k in range(self.count)]
        for k, name in enumerate(self.players):
            if name != "external":
                actions[k] = int(self.engine.bot_actions(name, agent=k)[0])
        self.answers = {}
        self.engine.step_many(np.array([actions]), autoreset=False)
        return bool(self.engine.ended[0])

    def reset(self, seed=None):
        if self.rotates:
            known = seed is None
            self.agent = (self.agent + 1) % self.count if known else self.lane % self.count
        self.seat_players()
        self.decisions, self.answers, self.ended = 0, {}, False
        self.engine.reset_many(seeds=None if seed is None else [seed])
        while not self.asked():
            if self.advance():
                self.engine.reset_many()

    def load(self, row):
        self.engine.set_states(row)
        made = self.engine.game.decisions(self.engine.get_states())
        self.decisions, self.answers = int(made[0, self.agent]), {}
        self.ended = bool(self.engine.ended[0])
        self.forget()

    def step(self, action, autoreset):
        actor, engine = self.actor, self.engine
        tau = self.tau
        self.forget()
        self.tau = tau
        self.decisions += actor == self.agent
        self.answers[actor] = int(action)
        while not self.ended and not self.asked():
            self.ended = self.advance()
            self.reward += engine.reward[0, self.agent]
            self.paid += engine.reward[0]
            for name in self.terms:
                self.terms[name] += engine.terms[name][0, self.agent]
            self.tau = int(engine.tau[0, self.agent])
        if self.ended:
            self.terminated, self.truncated = int(engine.terminated[0]), int(engine.truncated[0])
            self.final = {
                "final_obs": engine.final_obs[0, self.agent].copy(),
                "ep_return": engine.ep_return[0, self.agent],
                "ep_length": self.decisions,
                "ep_frames": engine.ep_frames[0],
                **{f"final_info.{name}": value for name, value in self.columns(final=True).items()},
            }
            if autoreset:
                self.reset()

    def columns(self, final=False):
        """Return the columns of the state, the learner first where there is an entry an agent."""
        found = {}
        info = self.engine.final_info if final else self.engine.info
        for name in self.engine.info_columns:
            value = info[name][0]
            if value.shape[:1] == (self.count,):
                value = value[self.order()]
            found[name] = value.copy()
        return found

    def shown(self):
        """Return all that a lane shows, by name."""
        engine, actor = self.engine, self.actor
        found = {
            "obs": engine.obs[0, actor],
            "mask": np.ones_like(engine.mask[0, 0]) if self.ended else engine.mask[0, actor],
            "reward": self.reward,
            "seat_reward": self.paid,
            "seat_obs": engine.obs[0],
            "terminated": self.terminated,
            "truncated": self.truncated,
            "tau": self.tau,
            "actor": actor,
            "agent": self.agent,
            "place": (actor - self.agent) % self.count,
            "has_outside": self.players.count("external") > 1,
            "row": engine.get_states()[0],
            "outcome": engine.game.outcomes(engine.get_states())[0],
            "ended": self.ended,
        }
        found |= {f"terms.{name}": value for name, value in self.terms.items()}
        found |= {f"info.{name}": value for name, value in self.columns().items()}
        return found | (self.final if self.terminated or self.truncated else {})


def shown_by(engine, i):
    """Return what a lane of an engine with an ``opponent`` shows, by the same names."""
    found = {name: getattr(engine, name)[i] for name in
             ("obs", "mask", "reward", "seat_reward", "seat_obs", "terminated", "truncated", "tau",
              "ended")}  # fmt: skip
    found |= {
        "actor": engine.get_actors(i)[0],
        "agent": engine.get_agents([i])[0],
        "place": engine.get_places(i)[0],
        "has_outside": engine.has_outside(i)[0],
        "row": engine.get_states(i)[0],
        "outcome": engine.get_outcomes(i)[0],
    }
    found |= {f"terms.{name}": engine.terms[name][i] for name in engine.terms.dtype.names or ()}
    found |= {f"info.{name}": engine.info[name][i] for name in engine.info_columns}
    if found["terminated"] or found["truncated"]:
        found |= {name: getattr(engine, name)[i] for name in
                  ("final_obs", "ep_return", "ep_length", "ep_frames")}  # fmt: skip
        columns = engine.info_columns
        found |= {f"final_info.{name}": engine.final_info[name][i] for name in columns}
    return found


def bits(value):
    """Return the bytes of a value, field by field: what is between fields means nothing."""
    value = np.asarray(value)
    if value.dtype.names:
        return tuple(bits(value[name]) for name in value.dtype.names)
    return value.tobytes() if value.dtype.kind == "f" else value.tolist()
