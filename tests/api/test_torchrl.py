"""What TorchRL takes for granted of environments, and TorchRL itself where it is installed."""

import gymnasium
import numpy as np
import pytest

import fastenv
from fastenv.errors import ConfigError, UnknownOptionError
from tests.api.short import SEVERAL
from tests.ring import RingGame
from tests.toy import RaceGame

ONE_OF_EACH_GAME = ["SkullKingWorker-v0", "Prospector-v0", "DrMarioPlacement-v0"]
AGENTS = [name for name in SEVERAL if fastenv.make_game(name).spec.num_agents > 1]
TOYS = {"race": RaceGame, "ring in turns": RingGame, "ring mixed": lambda: RingGame("mixed")}


@pytest.mark.parametrize("env_id", fastenv.list_envs())
def test_an_unknown_keyword_is_refused_in_the_words_of_python(env_id):
    """``GymEnv`` tries ``frameskip`` and takes it back upon a ``TypeError`` of these words."""
    makers = [gymnasium.make, gymnasium.make_vec, fastenv.make, fastenv.make_vec]
    for make in makers:
        n = {"num_envs": 2} if "vec" in make.__name__ else {}
        with pytest.raises(TypeError, match="unexpected keyword argument 'frameskip'") as refused:
            make(env_id, frameskip=1, **n)
        assert isinstance(refused.value, ConfigError)
        assert isinstance(refused.value, ValueError)


def test_so_is_one_beside_a_game_that_is_made_already():
    game = fastenv.make_game("SkullKingWorker-v0")
    with pytest.raises(
        UnknownOptionError, match="unexpected keyword argument 'frameskip': options"
    ):
        fastenv.FastEnv(game, frameskip=1)


@pytest.mark.parametrize("kind", ["aec_env", "parallel_env"])
@pytest.mark.parametrize("env_id", [*SEVERAL, *TOYS])
def test_infos_of_several_agents_are_numbers(env_id, kind):
    """``PettingZooWrapper`` makes a tensor of each."""
    env = made(kind, env_id)
    env.reset(seed=0)
    infos = env.infos if kind == "aec_env" else env.reset(seed=0)[1]
    assert [*infos] == env.possible_agents
    for info in infos.values():
        for name, value in info.items():
            assert np.asarray(value).dtype.kind in "biuf", name


@pytest.mark.parametrize("env_id", AGENTS)
def test_labels_of_infos_can_be_shown(env_id):
    env = made("parallel_env", env_id)
    _, infos = env.reset(seed=0)
    labelled = fastenv.make_vec(env_id, 1, agents="all").reset(seed=0)[1]
    for info in infos.values():
        for label in env.game.spec.info_labels.keys() & info.keys():
            assert env.game.shown(label, info[label]) == labelled[label][0]
    if env.game.spec.info_labels:  # a game may have no column of words
        assert env.game.spec.info_labels.keys() & infos["player_0"].keys()


def made(kind, name):
    """Return what PettingZoo's adapter makes of an id or a toy."""
    pytest.importorskip("pettingzoo")
    from fastenv.adapters import pettingzoo

    return getattr(pettingzoo, kind)(TOYS[name]() if name in TOYS else name)


@pytest.mark.parametrize("env_id", ONE_OF_EACH_GAME)
def test_gym_env_of_torchrl(env_id):
    envs = pytest.importorskip("torchrl.envs")
    env = envs.GymEnv(f"fastenv/{env_id}")
    envs.check_env_specs(env)
    assert env.rollout(5)["next", "reward"].shape[1:] == (1,)


@pytest.mark.filterwarnings("ignore:PettingZoo in TorchRL is tested using version")
@pytest.mark.parametrize("kind", ["aec_env", "parallel_env"])
@pytest.mark.parametrize("env_id", [*SEVERAL, *TOYS])
def test_petting_zoo_wrapper_of_torchrl(env_id, kind):
    envs = pytest.importorskip("torchrl.envs")
    env = envs.PettingZooWrapper(made(kind, env_id), use_mask=True)
    envs.check_env_specs(env)
    assert len(env.rollout(3)) == 3
