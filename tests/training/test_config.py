import json
import re

import pytest
import yaml

from fastenv.errors import ConfigError
from tests.tables import walk
from training.callbacks.start import check_config
from training.ppo.options import NativeRun
from training.run import games
from training.run.config import RunConfig
from training.run.config_files import load_file, merge, parse_assignments
from training.run.option_layers import CONFIGS, load_preset, merge_layers, parser, read_presets
from training.run.sizes import RolloutSizes
from training.train import main


def test_defaults_are_possible():
    config = NativeRun()
    assert config.rollout == config.num_envs * config.ppo.n_steps


@walk(
    ("values", "named"),
    [
        ({"num_env": 4}, ["'num_env'", "num_envs"]),
        ({"ppo": {"n_step": 4}}, ["'ppo.n_step'", "n_steps"]),
        ({"evaluation": {"game": 4}}, ["'evaluation.game'", "games"]),
    ],
)
def test_unknown_option_is_refused_by_name_with_those_there_are(values, named):
    with pytest.raises(ConfigError) as refused:
        RunConfig.from_mapping(values)
    assert all(text in str(refused.value) for text in named)
    assert isinstance(refused.value, TypeError)


@walk(
    "values",
    [
        {"dqn": {"capacyty": 9}},
        {"dqn": {"capacity" + "a" * 20_000: 9}},
        {"trainer": "hier", "hier": {"worker": {"batchsize": 9}}},
    ],
)
def test_of_many_options_those_most_like_the_unknown_one_are_named(values):
    with pytest.raises(ConfigError) as refused:
        check_config(RunConfig.from_mapping(values))
    said = str(refused.value)
    assert re.search(r"options: .*\b(capacity|batch_size), ", said)
    assert said.endswith(" more.")
    assert len(said) < 500


@walk(
    ("values", "named"),
    [
        ({"num_envs": 0}, "num_envs=0"),
        ({"torch_threads": 0}, "torch_threads=0"),
        ({"torch_threads": 10**12}, "torch_threads must be from 1 to 1024"),
        ({"num_envs": "many"}, "num_envs='many'"),
        ({"num_envs": True}, "num_envs=True"),
        ({"total_steps": 2.5}, "total_steps=2.5"),
        ({"total_steps": "abc"}, "must be an integer, such as 500, 2e6 or 2M"),
        ({"trainer": "a2c"}, "trainer='a2c'"),
        ({"backend": "rust"}, "backend='rust'"),
        ({"backend": []}, "backend=[]"),
        ({"env_impl": "rust"}, "'auto', 'reference', 'numba', 'cython', 'fast'"),
        ({"backend": "native"}, "'auto', 'reference', 'numba', 'cython', 'fast'"),
        ({"env_impl": "fast", "backend": "fast"}, "env_impl='fast'"),
        ({"use_numba": 1}, "use_numba=1"),
        ({"window_ticks": -1}, "window_ticks=-1"),
        ({"mask_schedule": [{"action": -1, "ticks": 5}]}, "mask_schedule.action=-1"),
        ({"mask_schedule": [{"action": 68, "ticks": 0}]}, "mask_schedule.ticks=0"),
        ({"mask_schedule": [{"action": 68, "ticks": 5, "anneal_steps": 0}]}, "anneal_steps=0"),
        ({"mask_schedule": [{"action": 68}]}, "mask_schedule.ticks"),
        ({"mask_schedule": {"action": 68, "ticks": 5}}, "mask_schedule"),
        ({"name": "../up"}, "name='../up'"),
        ({"seed": -1}, "seed=-1"),
        ({"ppo": {"gamma": 1.5}}, "ppo.gamma=1.5"),
        ({"ppo": {"learning_rate": float("nan")}}, "ppo.learning_rate"),
        ({"ppo": {"net_arch": 64}}, "ppo.net_arch=64"),
        ({"ppo": {"net_arch": []}}, "ppo.net_arch"),
        ({"trainer": "sb3", "ppo": {"activation": "gelu"}}, "ppo.activation='gelu'"),
        ({"trainer": "sb3", "ppo": {"lr_schedule": "cosine"}}, "ppo.lr_schedule='cosine'"),
        ({"trainer": "sb3", "ppo": {"precision": "fp16"}}, "ppo.precision='fp16'"),
        ({"trainer": "sb3", "native": {"trunk": "shared"}}, "native.trunk='shared'"),
        ({"trainer": "sb3", "native": {"trunk": "shared"}}, "trainer='native'"),
        ({"ppo": {"precision": "fp8"}}, "ppo.precision='fp8'"),
        ({"native": {"trunk": "split"}}, "native.trunk='split'"),
        ({"native": {"compile": "maybe"}}, "native.compile must be"),
        ({"native": {"recurrent": "gru", "seq_len": 7}}, "a divisor of ppo.n_steps=128"),
        ({"native": {"magic": 1}}, "'native.magic'"),
        ({"ppo": 3}, "ppo=3"),
        ({"num_envs": 3, "ppo": {"n_steps": 5, "batch_size": 4}}, "ppo.batch_size=4"),
        ({"checkpoints": {"keep": 0}}, "checkpoints.keep=0"),
        ({"evaluation": {"opponents": ["martians"]}}, "martians"),
        ({"evaluation": {"episodes": 0}}, "evaluation.episodes=0"),
        ({"evaluation": {"replays": -1}}, "evaluation.replays=-1"),
        ({"evaluation": {"seed": 2**40}}, "evaluation.seed"),
        ({"schedules": {"opponents": [[10, "random"]]}}, "schedules.opponents"),
        ({"schedules": {"opponents": [[0, "random"], [0, "rule_easy"]]}}, "schedules.opponents"),
        ({"schedules": {"opponents": "random"}}, "schedules.opponents"),
        ({"env_options": [1]}, "env_options"),
        ({"ppo": {"self": 1}}, "'ppo.self' is not an option"),
        ({"mask_schedule": [{"self": 1}]}, "'mask_schedule.self' is not an option"),
        ({"mask_schedule": [{"acton": 1, "ticks": 5}]}, "did you mean 'mask_schedule.action'"),
        ({"shaping": {"fi": "x"}}, "'shaping.fi' is not an option"),
        ({"ppo": {"\ud800": 1}}, "is not an option"),
        ({"ppo": {1: 1}}, "'ppo.1' is not an option"),
        ({"ppo": {"[key]": 1}}, "'ppo.[key]' is not an option"),
        ({"ppo": {"algorithm": "stock", "zzz": 1}}, "'ppo.zzz' is not an option"),
        ({"trainer": "dqn", "ppo": {"zzz": 1}}, "'ppo.zzz' is not an option"),
        ({"schedules": {"[key]": 5}}, "schedules.[key]=5"),
        ({"dqn": None}, "dqn=None is not possible: dqn must be a mapping of options to values"),
        ({"checkpoints": False}, "checkpoints=False"),
        ({"ppo": {"gamma": 1e308}}, "from 0 to 1"),
        ({"ppo": {"net_arch": {1, 2}}}, "ppo.net_arch must be a list"),
        ({"schedules": None}, "a mapping of knobs to [step, value] pairs"),
        ({"env_options": {1: 2}}, "env_options must be a mapping of texts"),
    ],
)
def test_impossible_value_is_refused_by_name_in_one_sentence(values, named):
    with pytest.raises(ConfigError) as refused:
        RunConfig.from_mapping(values)
    assert named in str(refused.value)
    assert "\n" not in str(refused.value)


@walk("values", [{"env_options": {"a": 1e20}}, {"ppo": {"clip_range": 1e308}}])
def test_any_finite_number_is_taken(values):
    RunConfig.from_mapping(values)


def test_yaml_reads_numbers_as_people_write_them(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("ppo: {learning_rate: 3e-4, gamma: 1, net_arch: [8, 8]}\n")
    ppo = RunConfig.from_mapping(load_file(path)).ppo
    assert (ppo.learning_rate, ppo.gamma, ppo.net_arch) == (3e-4, 1.0, (8, 8))


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(
        ConfigError, match=r"none\.yaml cannot be read: No such file or directory\."
    ):
        load_file(tmp_path / "none.yaml")


def test_line_that_is_no_yaml_is_named(tmp_path):
    (tmp_path / "c.yaml").write_text("seed: 1\nname: {a\nenv: b")
    with pytest.raises(
        ConfigError, match=r"c\.yaml cannot be read: line 3 is no YAML, "
    ) as refused:
        load_file(tmp_path / "c.yaml")
    assert "<unicode string>" not in str(refused.value)


def test_assignments_reach_into_sections():
    values = parse_assignments(["ppo.n_steps=64", "ppo.net_arch=[4]", "name=x", "seed=3"])
    assert values == {"ppo": {"n_steps": 64, "net_arch": [4]}, "name": "x", "seed": 3}


def test_layers_merge_sections_but_replace_schedules():
    below = {"ppo": {"n_steps": 1, "n_epochs": 2}, "schedules": {"a": [[0, 1]]}}
    above = {"ppo": {"n_steps": 3}, "schedules": {"b": [[0, 2]]}}
    merged = merge(below, above)
    assert merged == {"ppo": {"n_steps": 3, "n_epochs": 2}, "schedules": {"b": [[0, 2]]}}


def test_hash_is_of_values_not_of_their_order():
    one = RunConfig.from_mapping({"seed": 2, "ppo": {"gamma": 0.5, "n_epochs": 3}})
    two = RunConfig.from_mapping({"ppo": {"n_epochs": 3, "gamma": 0.5}, "seed": 2})
    assert one.sha256() == two.sha256() != NativeRun(seed=3).sha256()


@walk("name", read_presets())
def test_preset_is_possible_and_says_its_sizes(name):
    config = RunConfig.from_mapping(load_preset(name))
    assert config.preset == name
    assert f"{config.rollout:,} decisions" in config.sizes(4 * 203, 11)


def layers(*words, base=None):
    return merge_layers(parser().parse_args(words), base or {})


SKULL_KING = ("SkullKingFlat-v0", "SkullKingWorker-v0", "SkullKingAbility-v0")


@walk(
    ("env", "trainer"),
    [
        *((env, trainer) for env in SKULL_KING for trainer in ("native", "sb3")),
        ("Prospector-v0", "native"),
    ],
)
def test_environment_alone_takes_the_options_found_best_for_it(env, trainer):
    config = layers("--env", env, "--trainer", trainer)
    file = yaml.safe_load((CONFIGS / games.get_game(env).files[trainer]).read_text())
    for name, value in file["ppo"].items():
        assert getattr(config.ppo, name) == (tuple(value) if isinstance(value, list) else value)
    assert config.env_options == file.get("env_options", {})
    # Rates fall to zero at the end, so the length belongs to them.
    assert (config.num_envs, config.total_steps) == (file["num_envs"], file["total_steps"])
    usual = NativeRun()  # what belongs to the machine is the user's own
    for name in ("torch_threads", "device", "seed", "checkpoints", "evaluation"):
        assert getattr(config, name) == getattr(usual, name), name
    check_config(config)


@walk("trainer", ["native", "expert", "sb3", "hier"])
@walk(
    "env", ["LanternWalk-v0", "GameBoyGoal-v0", "Prospector-v0", "DrMarioPlacement-v0", *SKULL_KING]
)
def test_what_is_found_for_an_environment_alone_is_possible(env, trainer):
    assert layers("--env", env, "--trainer", trainer).trainer == trainer


def test_flags_win_over_the_options_found_best():
    assert layers("--env", "SkullKingManager-v0").ppo == NativeRun().ppo  # nothing better was found
    assert layers("--trainer", "hier", "--set", "hier.ratio=3").hier.worker["n_epochs"] == 2
    config = layers("--set", "ppo.n_epochs=7", "--num-envs", "128")
    assert (config.ppo.n_epochs, config.num_envs, config.ppo.n_steps) == (7, 128, 64)


def test_preset_file_and_resumed_run_have_their_own(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text("env: SkullKingWorker-v0\n")
    begun = NativeRun().to_dict()
    assert layers("--config", str(path)).ppo == layers(base=begun).ppo == NativeRun().ppo
    assert layers("--preset", "worker").ppo == RunConfig.from_mapping(load_preset("worker")).ppo


def test_sizes_of_an_ensemble_are_those_of_each_member():
    values = {"trainer": "ensemble", "num_envs": 48, "ensemble": {"seeds": [1, 2, 3]}}
    config = RunConfig.from_mapping({**values, "ppo": {"batch_size": 512, "n_epochs": 4}})
    said = config.sizes(4 * 203, 11)
    assert "4 minibatches of 512, 16 updates a rollout for each of 3 networks" in said


@walk("trainer", ["native", "dqn"])
def test_one_rollout_is_no_rollouts(trainer):
    config = RunConfig.from_mapping({"trainer": trainer, "total_steps": 64})
    assert re.search(r"\b1 (rollout|iteration)\b", config.sizes(4 * 203, 11))


@walk(("threads", "backend"), [(1, "serial"), (4, "threads")])
def test_facts_say_how_lanes_are_stepped(threads, backend):
    found = NativeRun(env_threads=threads).facts("cpu")
    assert (found["ppo_num_workers"], found["ppo_vector_backend"]) == (threads, backend)


def test_run_that_is_longer_than_asked_for_says_so():
    values = {"num_envs": 512, "ppo": {"n_steps": 128, "batch_size": 512}}
    said = RunConfig.from_mapping({**values, "total_steps": 70_000}).describe_length()
    assert "total_steps=70,000" in said
    assert "rollout of 65,536 decisions, so 2 rollouts = 131,072 decisions are trained" in said
    said = RunConfig.from_mapping({**values, "total_steps": 1}).describe_length()
    assert "so 1 rollout = 65,536" in said
    assert RunConfig.from_mapping({**values, "total_steps": 131_072}).describe_length() is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("2_000_000", 2_000_000),
        ("2,000,000", 2_000_000),
        ("2e6", 2_000_000),
        ("2E+6", 2_000_000),
        ("2M", 2_000_000),
        ("0.5m", 500_000),
        ("1.5e3", 1500),
        ("10k", 10_000),
        ("1 G", 10**9),
        ("64", 64),
    ],
)
def test_whole_numbers_are_read_as_people_write_them(tmp_path, text, number):
    assert layers("--env", "SkullKingManager-v0", "--total-steps", text).total_steps == number
    assert RunConfig.from_mapping(parse_assignments([f"total_steps={text}"])).total_steps == number
    path = tmp_path / "c.yaml"
    path.write_text(f"total_steps: {text}\nschedules: {{level: [[0, 1], [{text!r}, 2]]}}\n")
    config = RunConfig.from_mapping(load_file(path))
    assert config.total_steps == config.schedules["level"][1][0] == number


def test_whole_number_of_json_may_have_an_exponent():
    assert RunConfig.from_mapping(json.loads('{"total_steps": 1e6}')).total_steps == 10**6


@walk("text", ["1,5", "2.5", "1e-3", "1e6k", "2MM", "1e99", "many", "", "0x10M"])
def test_text_that_is_no_whole_number_is_refused(text):
    with pytest.raises(ConfigError, match=f"total_steps='{text}'.*an integer"):
        RunConfig.from_mapping({"total_steps": text})


@walk("trainer", ["native", "expert", "sb3", "dqn", "hier", "ensemble", "rllib"])
@walk("total", [1, 2, 63, 64, 97, 1000, 4999, 30_000])
def test_rollout_of_a_shorter_run_is_shortened(trainer, total, capsys):
    flags = ["--trainer", trainer, "--total-steps", str(total), "--num-envs", "510"]
    section = {
        "ensemble": ["ensemble.seeds=[1,2,3]", "ppo.batch_size=1088"],
        "rllib": ["rllib.env_runners=2", "rllib.learners=2", "ppo.batch_size=3264"],
        "dqn": [],
    }
    chosen = section.get(trainer, ["ppo.batch_size=3264"])
    config = layers(*flags, *(f"--set={text}" for text in chosen))
    members, least = (3, 6) if trainer == "ensemble" else (1, 2)
    over = max(total, least) / config.num_envs
    assert config.rollout < max(total, least) + max(config.num_envs, 3)
    assert config.rollout >= max(total, least)
    assert config.num_envs <= 510
    assert over <= 1 or config.num_envs == 510
    if trainer != "dqn":
        part = config.rollout // members
        assert part % config.ppo.batch_size == 0
        assert config.ppo.batch_size <= 2 * 3264
    said = capsys.readouterr().err
    lines = [line for line in said.splitlines() if "the usual ones for" not in line]
    assert len(lines) == 1
    assert f"total_steps={total:,} is less than a rollout, which is shortened: " in said
    assert config.planned_steps == (total if trainer == "hier" else config.rollout)


@walk("total", ["64", "1M"])
def test_minibatch_of_a_file_gives_way_to_fewer_lanes(total):
    config = layers("--num-envs", "8", "--total-steps", total)  # worker.yaml has 1,024 samples
    assert (config.num_envs, config.rollout % config.ppo.batch_size) == (8, 0)
    assert config.rollout == (64 if total == "64" else 8 * 64)
    assert config.ppo.batch_size == config.rollout
    with pytest.raises(ConfigError, match=r"ppo\.batch_size=1024"):
        layers("--num-envs", "8", "--set", "ppo.batch_size=1024")


def test_chunks_of_a_memory_stay_whole_in_a_shorter_rollout():
    options = ["--set=native.recurrent=gru", "--total-steps=100"]
    config = layers("--env", "SkullKingManager-v0", *options)
    assert (config.num_envs, config.ppo.n_steps, config.ppo.batch_size) == (7, 16, 112)


def test_lanes_that_cannot_be_divided_are_left_whole():
    given = RolloutSizes(6, 64, 64, lane_unit=4)
    assert given.fitted(5) == given


def test_shorter_rollout_has_no_minibatch_of_one_sample():
    assert RolloutSizes(1, 64, 2).fitted(7) == RolloutSizes(1, 7, 7)
    assert RolloutSizes(1, 8, 1).fitted(3) == RolloutSizes(1, 3, 1)  # as it was asked for


def test_run_as_long_as_a_rollout_is_left_as_it_is(capsys):
    config = layers("--env", "SkullKingManager-v0", "--total-steps", "65536")
    assert (config.num_envs, config.ppo) == (NativeRun().num_envs, NativeRun().ppo)
    assert capsys.readouterr().err == ""


def test_run_that_goes_on_keeps_its_shorter_rollout(tmp_path, capsys):
    path = tmp_path / "own.yaml"
    path.write_text("ppo: {n_steps: 128}\n")
    begun = layers("--config", str(path), "--total-steps", "64")
    longer = layers("--config", str(path), "--total-steps", "1M", base=begun.to_dict())
    assert (longer.total_steps, longer.num_envs, longer.ppo) == (10**6, 64, begun.ppo)
    assert layers("--total-steps", "1M", base=begun.to_dict()).ppo == begun.ppo
    old = NativeRun(total_steps=64).to_dict()  # as runs were begun that had whole rollouts
    assert layers("--config", str(path), "--total-steps", "200k", base=old).ppo == NativeRun().ppo


def test_unknown_preset_is_refused():
    with pytest.raises(ConfigError, match="worker"):
        load_preset("butler")


@walk("word", ["auto", "reference", "fast", "native"])
def test_backend_may_have_the_name_it_once_had(word):
    config = RunConfig.from_mapping({"env_impl": word})
    assert config.backend == ("fast" if word == "native" else word)


@walk(
    ("flags", "name"),
    [
        (["--backend", "cython"], "cython"),
        (["--set", "backend=numba"], "numba"),
        (["--use-numba"], "numba"),
        (["--use-cython"], "cython"),
        (["--use-numba", "--use-cython"], "fast"),
        (["--set", "use_numba=true", "--set", "use_cython=true"], "fast"),
        (["--set", "use_cython=false"], "reference"),
        (["--set", "use_cython=null"], "auto"),
        ([], "auto"),
    ],
)
def test_backend_is_chosen_by_name_or_by_flags(flags, name):
    assert layers(*flags).backend == name


@pytest.mark.parametrize("below", ["backend: fast", "use_cython: true", "env_impl: reference"])
def test_backend_of_a_layer_takes_the_place_of_that_below(tmp_path, below):
    path = tmp_path / "c.yaml"
    path.write_text(below)
    for flags in (["--use-numba"], ["--backend", "numba"], ["--set", "env_impl=numba"]):
        assert layers("--config", str(path), *flags).backend == "numba"


def test_name_of_a_backend_that_contradicts_a_flag_is_refused():
    with pytest.raises(ConfigError, match="backend='fast' contradicts use_numba=False"):
        layers("--backend", "fast", "--set", "use_numba=false")


@walk("trainer", ["native", "sb3"])
def test_rollout_that_no_machine_holds_is_refused(trainer, tmp_path, capsys):
    flags = ["--trainer", trainer, "--set", "ppo.n_steps=1000000000", "--runs", str(tmp_path)]
    assert main([*flags, "--total-steps", "1e15"]) == 2
    said = capsys.readouterr().err.splitlines()[-1]
    assert said.startswith("error: ppo.n_steps=1000000000 is not possible")
    assert "GiB" in said
    assert list(tmp_path.iterdir()) == []


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


@walk(
    "values",
    [
        {"name": "\ud800"},
        {"env_options": {"opponents": "a\udfff"}},
        {"env_options": {"\ud800": 1}},
        {"\ud800": 1},
        {"num_envs": 10**5000},
        {"total_steps": -(10**5000)},
        {"seed": "x" * 10_000},
        {"ppo": {"learning_rate": 10**5000}},
        {"ppo": {"gamma": nested(5000)}},
        {"env_options": {"schedule": [10**5000] * 3, "num_players": nested(5000)}},
        {"env": nested(5000)},
        {"ppo": nested(90_000)},
        {"schedules": {"opponents": nested(5000)}},
        {"ppo": None},
        {"ppo": 3},
        {"schedules": {"a" * 20_000: [3]}},
        {"schedules": {"a\nb": [3]}},
    ],
)
def test_ugly_values_are_refused_in_one_short_sentence(values):
    with pytest.raises(ConfigError) as refused:
        RunConfig.from_mapping(values)
    assert len(str(refused.value)) < 600
    assert "\n" not in str(refused.value)
    str(refused.value).encode()


@pytest.mark.parametrize("values", [None, 3, [], "native", nested(5000)])
def test_a_config_is_a_mapping(values):
    with pytest.raises(ConfigError, match=r"config=.* must be a mapping"):
        RunConfig.from_mapping(values)
