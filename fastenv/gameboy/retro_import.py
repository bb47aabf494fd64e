"""RAM maps from the files of stable-retro: ``data.json`` and ``scenario.json``.

docs/gameboy.md, 20.1 says what is taken over. Rewards and ends come to the same numbers as there
if a step is one frame.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from fastenv.errors import ConfigError, show
from fastenv.gameboy.expressions import WORDS
from fastenv.gameboy.ram_fields import check_keys
from fastenv.gameboy.ram_program import read_weight

Json = dict[str, Any]

# What an operation makes of a value v and its reference r.
_OPERATIONS = {
    "nonzero": "({v} != 0)", "zero": "({v} == 0)", "positive": "({v} > 0)",
    "negative": "({v} < 0)", "sign": "(({v} > 0) - ({v} < 0))", "equal": "({v} == {r})",
    "negative-equal": "({v} == -{r})", "not-equal": "({v} != {r})", "less-than": "({v} < {r})",
    "greater-than": "({v} > {r})", "less-or-equal": "({v} <= {r})",
    "greater-or-equal": "({v} >= {r})",
}  # fmt: skip
_TYPE = re.compile(r"([<>=|]?)([uidn])([1-8])")
_LEFT_OUT = ("crop", "crops", "actions")  # of a scenario, for other options
# All that stable-retro reads, for a misspelt key would leave out a reward or an end in silence.
_SCENARIO = ("reward", "rewards", "done", "scripts", *_LEFT_OUT)
_VARIABLE = ("address", "type", "mask")
_REWARD = ("variables", "time", "script")
_PAID = ("reward", "penalty")
_DONE = ("variables", "nodes", "condition", "script")
_MEASURED = ("measurement", "op", "reference")
_DEPTH = 16


def import_retro(data: Any, scenario: Any = None) -> tuple[Json, list[str]]:
    """Return the value of a RAM map's file, and what of the scenario it does not say.

    Parameters
    ----------
    data, scenario : object
        Values of the files.

    Raises
    ------
    ConfigError
        Naming what no RAM map can say, such as a script.
    """
    names, fields = _fields(data)
    found: Json = {"fields": fields}
    if scenario is None:
        return found, []
    if not isinstance(scenario, dict):
        raise ConfigError(f"scenario={show(scenario)} must be an object.")
    check_keys(scenario, "scenario", _SCENARIO)
    if scenario.get("scripts"):
        raise ConfigError("scenario.scripts: scripts cannot be taken over.")
    left_out = [f"scenario.{key}" for key in _LEFT_OUT if key in scenario]
    reward = scenario.get("reward")
    if "rewards" in scenario:
        several = scenario["rewards"]
        if not isinstance(several, list) or not several:
            raise ConfigError(f"scenario.rewards={show(several)} must be a list of rewards.")
        reward = several[0]
        left_out += ["scenario.rewards of the other players"] if len(several) > 1 else []
    if reward is not None:
        found["rewards"] = _rewards(reward, names)
    if "done" in scenario:
        found["ends"] = {"terminated": _done(scenario["done"], names, "scenario.done")}
    return found, left_out


def _fields(data: Any) -> tuple[dict[str, str], Json]:
    """Return the name of each variable as a field, and the fields."""
    info = data.get("info") if isinstance(data, dict) else None
    if not isinstance(info, dict):
        raise ConfigError("data: it must be an object with info, an object of variables.")
    check_keys(data, "data", ("info",))
    names: dict[str, str] = {}
    fields: Json = {}
    for variable, entry in info.items():
        where = f"data.info.{variable}"
        name = re.sub(r"[^A-Za-z0-9_]", "_", variable)
        name = f"{name}_" if name in WORDS else name
        name = f"_{name}" if name[:1].isdigit() else name
        if name in fields or not name:
            raise ConfigError(f"{where}: another variable is called {show(name)}: rename one.")
        if not isinstance(entry, dict) or not {"address", "type"} <= {*entry}:
            raise ConfigError(f"{where}={show(entry)} must be an object with address and type.")
        check_keys(entry, where, _VARIABLE)
        names[variable] = name
        fields[name] = {"address": entry["address"], "type": _type(entry["type"], where)}
        if "mask" in entry:
            fields[name]["mask"] = entry["mask"]
    return names, fields


def _type(given: Any, where: str) -> str:
    found = _TYPE.fullmatch(given) if isinstance(given, str) else None
    if found is None:
        raise ConfigError(
            f"{where}.type={show(given)} must be one of <, >, =, |, one of u, i, d, n, and 1 to 8 "
            "bytes: middle endian is not known."
        )
    order, form, size = found.groups()
    if size == "1":
        return form + size
    return (">" if order == ">" else "<") + form + size


def _measured(
    variable: str,
    spec: Any,
    names: Mapping[str, str],
    where: str,
    default: str,
    *known: str,
) -> str:
    """Return the expression of a variable as a scenario measures it.

    It has the keys of a measurement, and those that are ``known`` beside them.
    """
    if variable not in names:
        raise ConfigError(f"{where}: data has no variable {show(variable)}.")
    if not isinstance(spec, dict):
        raise ConfigError(f"{where}={show(spec)} must be an object.")
    check_keys(spec, where, (*_MEASURED, *known))
    measurement = spec.get("measurement", default)
    if measurement not in ("absolute", "delta"):
        raise ConfigError(f"{where}.measurement={show(measurement)} must be absolute or delta.")
    reference = spec.get("reference", 0)
    if isinstance(reference, bool) or not isinstance(reference, int) or abs(reference) >= 2**63:
        raise ConfigError(f"{where}.reference={show(reference)} must be an integer of 64 bits.")
    value = names[variable] if measurement == "absolute" else f"delta({names[variable]})"
    if "op" not in spec:
        return value
    if not isinstance(spec["op"], str) or spec["op"] not in _OPERATIONS:
        allowed = ", ".join(_OPERATIONS)
        raise ConfigError(f"{where}.op={show(spec['op'])} must be one of {allowed}.")
    number = f"({reference})" if reference < 0 else str(reference)
    return _OPERATIONS[spec["op"]].format(v=value, r=number)


def _rewards(reward: Any, names: Mapping[str, str]) -> Json:
    """Return the terms of a reward: one for what is above 0 and one for what is below.

    A name that another term has gets a ``_`` behind it.
    """
    where = "scenario.reward"
    if not isinstance(reward, dict):
        raise ConfigError(f"{where}={show(reward)} must be an object.")
    if "script" in reward:
        raise ConfigError(f"{where}.script={show(reward['script'])}: it cannot be taken over.")
    check_keys(reward, where, _REWARD)
    found: Json = {}

    def add(name: str, value: str, weight: float) -> None:
        while name in found:
            name += "_"
        found[name] = {"value": value, "weight": weight}

    variables = _object(reward, "variables", where)
    for variable, spec in variables.items():
        at = f"{where}.variables.{variable}"
        value = _measured(variable, spec, names, at, "delta", *_PAID)
        for key, fold, suffix in (("reward", "max", ""), ("penalty", "min", "_penalty")):
            if weight := _weight(spec, key, at):
                add(names[variable] + suffix, f"{fold}({value}, 0)", weight)
    time = _object(reward, "time", where)
    check_keys(time, f"{where}.time", _PAID)
    if _weight(time, "penalty", f"{where}.time"):
        raise ConfigError(
            f"{where}.time.penalty={show(time['penalty'])}: stable-retro says that it is "
            "subtracted, and never does so: give a negative reward."
        )
    if weight := _weight(time, "reward", f"{where}.time"):
        add("time", "1", weight)
    return found


def _object(owner: Json, key: str, where: str) -> Json:
    found = owner.get(key, {})
    if not isinstance(found, dict):
        raise ConfigError(f"{where}.{key}={show(found)} must be an object.")
    return found


def _weight(spec: Json, key: str, where: str) -> float:
    return read_weight(spec.get(key, 0), f"{where}.{key}")


def _done(done: Any, names: Mapping[str, str], where: str, depth: int = 0) -> str:
    """Return the expression that is not 0 at the end of an episode."""
    if not isinstance(done, dict) or depth > _DEPTH:
        raise ConfigError(f"{where}={show(done)} must be an object, at most {_DEPTH} deep.")
    if "script" in done:
        raise ConfigError(f"{where}.script={show(done['script'])}: it cannot be taken over.")
    check_keys(done, where, _DONE)
    condition = done.get("condition", "any")
    if condition not in ("any", "all"):
        raise ConfigError(f"{where}.condition={show(condition)} must be any or all.")
    parts = []
    for variable, spec in _object(done, "variables", where).items():
        value = _measured(variable, spec, names, f"{where}.variables.{variable}", "absolute")
        is_truth = "op" in spec and spec["op"] != "sign"
        parts.append(value if is_truth else f"({value} > 0)")
    for name, node in _object(done, "nodes", where).items():
        parts.append(f"({_done(node, names, f'{where}.nodes.{name}', depth + 1)})")
    if not parts:
        return "1" if condition == "all" else "0"
    return (" or " if condition == "any" else " and ").join(parts)
