"""Folders for hubs of models: weights as safetensors, config and card."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from safetensors.torch import load_file, save_file

from fastenv.errors import ConfigError
from tests.slow import every
from tests.tables import walk
from tools.figures import cards
from training import export as command
from training import load_policy
from training.apps.drmario.evaluator import model as evaluator
from training.apps.drmario.reader.network import load_reader
from training.players import card
from training.players.export import export
from training.players.trained import load, read_again
from training.run import checkpoint, weights
from training.run.checkpoint import CheckpointError, DamagedCheckpointError
from training.run.folder import RunFolder
from training.search import values

ROOT = Path(__file__).resolve().parents[2]
PRETRAINED = sorted(path for path in (ROOT / "pretrained").iterdir() if path.is_dir())
AGENTS = [path for path in PRETRAINED if (path / "config.json").exists()]
NETWORKS = {
    "drmario-evaluator/evaluator": evaluator.load,
    "drmario-reader/reader": load_reader,
    "skullking-value/value": values.load,
}


def name_of(path):
    return path.name


# -- the cards of the repository -------------------------------------------------------------------


def numbers_in(value):
    """Yield all numbers of a record, to the digits that a card has."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from numbers_in(each)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(f"{value:.6g}")


def record_of(path):
    return cards.file_head(path) if path.suffix == ".safetensors" else json.loads(path.read_text())


@walk("folder", PRETRAINED, ids=name_of)
def test_every_folder_has_a_card_with_metadata(folder):
    found = card.check((folder / card.FILE).read_text(), str(folder))
    assert (found["license"], found["library_name"]) == ("mit", "fastenv")
    assert "reinforcement-learning" in found["tags"]
    (model,) = found["model-index"]
    assert model["name"] == folder.name
    assert model["results"]


@walk("folder", PRETRAINED, ids=name_of)
def test_figures_in_the_metadata_stand_in_a_record(folder):
    found = yaml.safe_load(card.split((folder / card.FILE).read_text())[0])
    for result in found["model-index"][0]["results"]:
        known = set(numbers_in(record_of(ROOT / result["dataset"]["args"]["record"])))
        for metric in result["metrics"]:
            _, _, interval = metric["name"].partition("95 % interval ")
            ends = [float(end) for end in interval.split(" to ") if end]
            assert {metric["value"], *ends} <= known, metric


@walk("folder", PRETRAINED, ids=name_of)
def test_a_card_says_what_how_well_limits_and_command_and_links_nowhere(folder):
    text = card.split((folder / card.FILE).read_text())[1]
    headings = re.findall(r"^## (.*)$", text, flags=re.MULTILINE)
    assert [heading for heading in headings if not heading.startswith("How well")] == [
        *("Run it", "Limits", "How it was trained")
    ]
    assert headings[1].startswith("How well")
    assert "python -m training" in text
    assert "](" not in text  # a hub has no other files of the repository


def test_cards_are_made_for_all_folders():
    assert sorted(cards.AGENTS) == [folder.name for folder in PRETRAINED]


# -- export ----------------------------------------------------------------------------------------


def flat(model):
    """Return the numbers of nested networks, by name."""
    return {
        f"{name}/{part}": value
        for name, found in model.items()
        for part, value in (
            flat(found) if isinstance(found, dict) else {"": found.numpy().tobytes()}
        ).items()
    }


@pytest.mark.parametrize("folder", every(2, AGENTS), ids=name_of)
def test_an_agent_of_the_repository_is_exported_and_loads_again(folder, tmp_path, capsys):
    there = tmp_path / "hub"
    assert command.main(["--hub", str(there), str(folder)]) == 0
    assert "license" not in capsys.readouterr().out
    names = {card.FILE, "config.json", "model.safetensors"}
    assert {path.name for path in there.iterdir()} == names
    assert (there / card.FILE).read_text() == (folder / card.FILE).read_text()
    ours, theirs = (load_policy(path) for path in (there, folder))
    assert (ours.env, ours.steps) == (theirs.env, theirs.steps)
    ours, theirs = (read_again(load(RunFolder.open(path)).path).model for path in (there, folder))
    assert flat(ours) == flat(theirs)


@pytest.mark.parametrize("name", NETWORKS)
def test_a_network_of_the_repository_is_exported_and_loads_again(name, tmp_path, capsys):
    folder, _, file = name.partition("/")
    source = ROOT / "pretrained" / folder
    assert command.main([str(source), "--hub", str(tmp_path / "hub")]) == 0
    assert f"{file}.safetensors" in capsys.readouterr().out
    NETWORKS[name](tmp_path / f"hub/{file}.safetensors")
    assert (tmp_path / "hub" / card.FILE).read_text() == (source / card.FILE).read_text()
    again = [str(source), "--hub", str(tmp_path / "two"), "--half"]
    assert command.main(again) == 2
    assert "--half" in capsys.readouterr().err


def test_own_run_is_exported_with_what_is_known(finished, tmp_path, capsys):
    there = tmp_path / "mine"
    assert command.main([str(finished), "--hub", str(there)]) == 0
    assert "names no license" in capsys.readouterr().out
    text = (there / card.FILE).read_text()
    found = card.check(text, "card")
    assert {"license", "model-index"} & set(found) == set()
    assert "has not been evaluated" in text
    assert "| decisions | 512 |" in text
    assert f"| seed | {RunFolder.open(finished).config.seed} |" in text
    assert "None" not in text
    ours, theirs = load(RunFolder.open(there)), load(RunFolder.open(finished))
    obs = theirs.engine().obs.repeat(5, 0) + 0.5
    assert (ours.logits(obs) == theirs.logits(obs)).all()
    kept = weights.load(there / "model.safetensors", {}).model["policy"]
    assert not any(name.startswith("value_") for name in kept)


def evaluated(run, **changes):
    """Write an evaluation of the newest checkpoint into a copy of a run."""
    name = checkpoint.newest(run / "checkpoints").name
    measures = {"points": [9.5, 9, 10], "win_rate": [0.5, 0.4, 0.6], "rank": [2, 1, 3]}
    results = {"rule_hard": {"trained": measures, "heuristic": measures}}
    record = {"checkpoint": name, "git_rev": "abc", "dirty": False}
    record |= {"matches": {"players": 4, "results": results}} | changes
    (run / "evaluation.json").write_text(json.dumps(record))


@pytest.fixture
def mine(train, tmp_path):
    assert train(tmp_path, "mine") == 0
    return tmp_path / "mine"


def test_card_of_a_run_has_the_evaluation_of_its_checkpoint(mine, tmp_path):
    evaluated(mine)
    assert command.main([str(mine), "--hub", str(tmp_path / "one"), "--half"]) == 0
    found = card.check((tmp_path / "one" / card.FILE).read_text(), "card")
    (result,) = found["model-index"][0]["results"]
    assert result["dataset"]["config"] == "against 3 x rule_hard, trained"
    assert result["dataset"]["revision"] == "abc"
    values_of = {metric["type"]: metric["value"] for metric in result["metrics"]}
    assert values_of == {"points": 9.5, "win_rate": 0.5}  # those that runs are compared on
    kept = load_file(tmp_path / "one/model.safetensors")
    assert {value.dtype for value in kept.values()} == {torch.float16}
    evaluated(mine, checkpoint="ckpt_1", dirty=True)
    assert command.main([str(mine), "--hub", str(tmp_path / "two")]) == 0
    assert "has not been evaluated" in (tmp_path / "two" / card.FILE).read_text()


def test_own_card_with_metadata_is_kept_and_one_without_is_not(mine, tmp_path, capsys):
    own = "---\nlicense: apache-2.0\ntags: [mine]\n---\n\n# Mine\n"
    (mine / card.FILE).write_text(own)
    assert command.main([str(mine), "--hub", str(tmp_path / "one")]) == 0
    assert (tmp_path / "one" / card.FILE).read_text() == own
    assert "license" not in capsys.readouterr().out
    (mine / card.FILE).write_text("# Notes\n")
    assert command.main([str(mine), "--hub", str(tmp_path / "two")]) == 0
    assert "# Notes" not in (tmp_path / "two" / card.FILE).read_text()


@walk(
    ("head", "said"),
    [
        ("license: [mit]", "license"),
        ("tags: mit", "tags"),
        ("- a", "options by name"),
        ("model-index: 3", "model-index"),
        ("model-index: [{name: a}]", "model-index"),
        ("model-index: [{name: a, results: [3]}]", "task"),
        ("model-index: [{name: a, results: [{task: {type: rl}}]}]", "dataset"),
        (
            "model-index: [{name: a, results: [{task: {type: x}, dataset: {name: x, type: x}}]}]",
            "metrics",
        ),
        ("a: !!python/object:os.system x", "line"),
    ],
)
def test_cards_that_hubs_cannot_read_are_refused_in_one_sentence(head, said):
    with pytest.raises(ConfigError, match=said) as refused:
        card.check(f"---\n{head}\n---\n\ntext\n", "a card")
    assert "\n" not in str(refused.value)


def test_text_without_metadata_is_no_card():
    for text in ("", "# Title\n", "---\nlicense: mit\n"):
        with pytest.raises(ConfigError, match="begins with metadata"):
            card.check(text, "a card")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["no/such/run", "--hub", "{new}"], "there is no run"),
        (["{run}", "--hub", "{run}"], "is there already"),
        (["{run}", "{new}", "--hub", "{new}2"], "FOLDER"),
        (["{run}", "--hub", "{new}", "--onnx"], "--onnx"),
        (["{run}", "--hub", "{new}", "--member", "1"], "--member"),
        (["{run}", "--hub", "{new}", "--checkpoint", "ckpt_7"], "ckpt_7"),
        (["{bare}", "--hub", "{new}"], "write its card first"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(words, said, finished, tmp_path, capsys):
    (tmp_path / "bare").mkdir()
    save_file({"x": torch.zeros(1)}, tmp_path / "bare/x.safetensors")
    places = {"run": finished, "new": tmp_path / "new", "bare": tmp_path / "bare"}
    assert command.main([word.format(**places) for word in words]) == 2
    shown = capsys.readouterr().err
    assert said in shown
    assert shown.count("\n") == 1
    assert not (tmp_path / "new").exists()
    assert not list(tmp_path.glob(".tmp-*"))


# -- what was exported -----------------------------------------------------------------------------


@pytest.fixture
def hub(finished, tmp_path):
    assert command.main([str(finished), "--hub", str(tmp_path / "hub")]) == 0
    return tmp_path / "hub"


def test_it_is_exported_again_in_any_form(hub, finished, tmp_path):
    assert command.main([str(hub), "--hub", str(tmp_path / "again")]) == 0
    assert (tmp_path / "again/README.md").read_text() == (hub / "README.md").read_text()
    export(RunFolder.open(hub), tmp_path / "run")
    obs = load(RunFolder.open(hub)).engine().obs + 0.5
    whole = load(RunFolder.open(finished)).logits(obs)
    for name in ("again", "run"):
        assert (load(RunFolder.open(tmp_path / name)).logits(obs) == whole).all()


def test_its_file_of_weights_stands_for_the_folder(hub):
    assert load_policy(hub / "model.safetensors").steps == load_policy(hub).steps


def test_no_training_goes_on_from_it(hub, train, capsys):
    assert train(hub.parent, "hub", "--resume", "--total-steps", "99999") == 2
    assert "no training can be resumed from it" in capsys.readouterr().err


def test_damaged_weights_are_refused(hub):
    path = hub / "model.safetensors"
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(DamagedCheckpointError, match="its hash is wrong"):
        load_policy(hub)
    path.write_bytes(content[:100])
    with pytest.raises(DamagedCheckpointError, match="cannot be read as weights"):
        load_policy(hub)
    save_file({"x": torch.zeros(1)}, path)
    with pytest.raises(CheckpointError, match="no agent of this version"):
        load_policy(hub)


def test_weights_of_another_environment_are_foreign(hub):
    saved = weights.load(hub / "model.safetensors", {})
    weights.save(hub / "model.safetensors", 5, {"env": "Other-v0"}, saved.model["policy"])
    with pytest.raises(CheckpointError, match="is foreign: its env is 'Other-v0'"):
        load_policy(hub)


def test_nested_networks_come_back_as_they_were(tmp_path):
    numbers = torch.from_numpy(np.arange(6.0).reshape(2, 3)).half()
    policy = {"worker": {"net.0.weight": numbers, "n": torch.tensor(3)}, "1": {"b": numbers.T}}
    weights.save(tmp_path / "x.safetensors", 7, {"a": [1, "b"]}, policy)
    found = weights.load(tmp_path / "x.safetensors", {"a": [1, "b"]})
    assert found.steps == 7
    assert found.model["policy"].keys() == policy.keys()
    for name, net in policy.items():
        for part, value in net.items():
            assert torch.equal(found.model["policy"][name][part], value)
    with pytest.raises(CheckpointError, match="a/b of the policy is a int"):
        weights.save(tmp_path / "y.safetensors", 7, {}, {"a": {"b": 3}})


def test_a_card_shows_results_with_the_ends_of_their_intervals():
    metrics = {"win_rate": (0.61234567, 0.58, 0.64), "episodes": (4000.0,)}
    result = card.Result("fastenv/Prospector-v0", "against 3 x rule_hard", metrics, "abc", "r.json")
    assert card.format_table([result]).splitlines() == [
        "| conditions | measure | value, 95 % interval |",
        "| --- | --- | --- |",
        "| against 3 x rule_hard | win rate | 0.61235 [0.58, 0.64] |",
        "| against 3 x rule_hard | episodes | 4000 |",
    ]
    (model,) = card.make_metadata("a", [result])["model-index"]
    (entry,) = model["results"]
    assert entry["metrics"] == [
        {
            "type": "win_rate",
            "value": 0.612346,
            "name": "win rate, 95 % interval 0.58 to 0.64",
        },
        {"type": "episodes", "value": 4000.0, "name": "episodes"},
    ]
    shown = {"name": "Prospector-v0", "type": "Prospector-v0", "config": "against 3 x rule_hard"}
    assert entry["dataset"] == {**shown, "revision": "abc", "args": {"record": "r.json"}}
