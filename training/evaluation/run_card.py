"""The card of a run: a description of its agent from its folder, for a hub of models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fastenv.registry import short_id
from training.evaluation.judging import get_judging
from training.logs.run_data import groups_of, is_interval
from training.players.card import Result, format_front_matter, format_table, make_metadata
from training.players.trained import TrainedAgent, provenance
from training.run import files, machine
from training.run.folder import RunFolder
from training.run.seating import AGENT

_GOALS = "goals reached"  # a group of results whose measure is not one of the game's


def make(run: RunFolder, trained: TrainedAgent) -> str:
    """Write the card of an agent, from the folder of its run alone."""
    results = list(results_of(run, trained))
    tags = [short_id(run.config.env)]
    parts = [
        format_front_matter(make_metadata(run.name, results, tags=tags)),
        f"# {run.name}\n",
        f"An agent of `{short_id(run.config.env)}`, an environment of fastenv.\n",
        f"## Use\n\n{_USE}",
        f"## Results\n\n{_describe_results(results)}",
        f"## Training\n\n{_describe_training(run, trained)}",
        f"## Limits\n\n{_LIMITS}",
        f"## License\n\n{_LICENSE}",
    ]
    return "\n".join(parts)


def results_of(run: RunFolder, trained: TrainedAgent) -> Iterator[Result]:
    """Yield the results of an evaluation of this very checkpoint; nothing without one."""
    record = files.read_object(run.path / "evaluation.json")
    if record.get("checkpoint") != trained.path.name:
        return
    judging = get_judging(run.config.env)
    measured = [each.name for each in judging.columns if each.column.is_measured]
    revision = record.get("git_rev") if record.get("dirty") is False else None
    for group, players in groups_of(record).items():
        columns = ["overall"] if group == _GOALS else measured
        for player, means in players.items():
            metrics = {name: means[name] for name in columns if is_interval(means.get(name))}
            if player.startswith(AGENT) and metrics:
                yield Result(run.config.env, f"{group}, {player}", metrics, revision)


def _describe_results(results: Sequence[Result]) -> str:
    if not results:
        return "This checkpoint has not been evaluated.\n"
    return f"Found by `python -m training evaluate`.\n\n{format_table(results)}\n"


def _describe_training(run: RunFolder, trained: TrainedAgent) -> str:
    facts = {
        "trainer": run.config.trainer,
        "decisions": f"{trained.steps:,}",
        **provenance(run),
        "config_sha256": run.config.sha256(),
    }
    host = facts.pop("host") or {}
    facts["processor"] = machine.describe(host) or None
    facts["GPU"] = host.get("gpu")
    facts["dirty"] = {True: "yes", False: "no"}.get(facts["dirty"])
    names = {"git_rev": "commit", "dirty": "with uncommitted changes"}
    lines = ["| | |", "| --- | --- |"]
    lines += [
        f"| {names.get(name, name)} | {value} |"
        for name, value in facts.items()
        if value is not None
    ]
    return "\n".join([*lines, "", "`config.json` has every option.", ""])


_LICENSE = """\
No license has been chosen. Name one in the metadata (`license: ...`) before you upload this folder.
"""
_USE = """\
You need a checkout of fastenv with `pip install '.[train]'`. FOLDER is this folder.

```
python -m training evaluate FOLDER
python -m training watch FOLDER
```

```python
import training

policy = training.load_policy("FOLDER")
env = policy.make()
obs, info = env.reset(seed=0)
action, state = policy.act(obs, info["action_mask"])
```

`model.safetensors` has the weights and `config.json` the options. No training goes on from them.
"""
_LIMITS = """\
The agent plays the environment with the options of `config.json`. The results above are all that
its folder knows of its strength.
"""
