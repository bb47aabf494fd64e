"""Who replays a golden trace: an engine on any backend."""

import numpy as np

from fastenv.prospector import layout
from tests.prospector.golden import FIELDS


class EngineDriver:
    """Lane 0 of a batch engine, on any backend."""

    def __init__(self, time_max, backend, num_envs=1):
        import fastenv

        self.engine = fastenv.make_engine(
            "Prospector-v0", num_envs, backend=backend, time_max=time_max, info_columns=None
        )
        self.lanes = np.arange(num_envs)

    def _look(self):
        engine = self.engine
        self.obs, self.mask = engine.obs[0].copy(), engine.mask[0].copy()
        self.reward = float(engine.reward[0])
        self.terminated, self.truncated = bool(engine.terminated[0]), bool(engine.truncated[0])

    def reset(self, seed):
        seeds = None if seed is None else [seed] * len(self.lanes)
        self.engine.reset_many(seeds=seeds)
        self._look()

    def step(self, action):
        self.engine.step_many(np.full(len(self.lanes), action), autoreset=False)
        self._look()

    def info(self):
        info = self.engine.info
        return {name: float(info[name][0]) for name in layout.INFO_COLUMNS}

    def row(self):
        return self.engine.get_states()[0]

    def load(self, row):
        self.engine.set_states(np.repeat(row[None], len(self.lanes)))
        self._look()


def inject(driver, values):
    """Assign to the state what a golden trace injects; the names are those of the file."""
    row = driver.row()
    for name, value in values.items():
        row[FIELDS.get(name, name)] = value
    driver.load(row)


def replay(driver, trace):
    """Play a golden trace and compare everything it records with what the driver shows."""
    columns = {f"info {k}": v for k, v in trace.group("info_").items()}
    states = trace.group("state_")
    resets = {
        int(step): (int(seed), obs)
        for step, seed, obs in zip(
            trace["reset_step"], trace["reset_seed"], trace["reset_obs"], strict=True
        )
    }
    name = trace.path.stem
    driver.reset(int(trace["seed"]))
    same(f"{name} obs0", driver.obs, trace["obs0"])
    assert int(driver.row()["rng"]) == int(trace["rng_state0"]), name
    if trace.meta["inject"]:
        inject(driver, trace.group("inject_"))
        same(f"{name} obs_inject", driver.obs, trace["obs_inject"])
    for t, action in enumerate(trace["actions"].tolist()):
        allowed = 0 <= action < 69 and bool(driver.mask[action])
        driver.step(action)
        where = f"{name} step {t} action {action}"
        info, row = driver.info(), driver.row()
        same(f"{where} obs", driver.obs, trace["obs"][t])
        exactly = {
            "terminated": driver.terminated,
            "truncated": driver.truncated,
            "invalid_action": info["invalid_action"],
            "dt": info["dt"],
            "resolved_action": info["action"],
            "current_node": row["current_node"],
            "node_is_station": info["node_context"],
            "rng_state": row["rng"],
        }
        for key, value in exactly.items():
            assert value == trace[key][t], f"{where}: {key} {value}, not {trace[key][t]}"
        assert allowed == (not info["invalid_action"]), f"{where}: the mask says otherwise"
        assert info["terminated"] == driver.terminated, where
        assert info["truncated"] == driver.truncated, where
        nearly(f"{where} reward", driver.reward, trace["reward"][t])
        for key, values in columns.items():
            nearly(f"{where} {key}", info[key.removeprefix("info ")], values[t])
        for key, values in states.items():
            nearly(f"{where} {key}", float(row[FIELDS.get(key, key)]), values[t])
        if t in resets:
            seed, obs = resets[t]
            driver.reset(None if trace.meta["reset_mode"] == "continue" else seed)
            same(f"{where} reset_obs", driver.obs, obs)


def same(where, got, wanted):
    """Compare observations bit for bit, and say where they differ."""
    if got.tobytes() != np.ascontiguousarray(wanted).tobytes():
        k = int(np.flatnonzero(got.view(np.uint32) != np.asarray(wanted).view(np.uint32))[0])
        raise AssertionError(f"{where}: [{k}] is {got[k]!r}, not {wanted[k]!r}")


def nearly(where, got, wanted):
    """Compare doubles as docs/prospector.md, 2 allows."""
    assert abs(got - wanted) <= 1e-12, f"{where}: {got!r}, not {wanted!r}"
