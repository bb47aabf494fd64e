"""What TorchRL takes for granted of environments, and TorchRL itself where it is installed."""

import gymnasium
import numpy as np
import pytest

import fastenv
from fastenv.errors import ConfigError, UnknownOptionError
from tests.api.short import IDS

ONE_OF_EACH_GAME = ["SkullKingWorker-v0", "Prospector-v0", "DrMarioPlacement-v0"]
SEVERAL = [name for name in IDS if fastenv.make_game(name).spec.num_agents > 1]


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


@pytest.mark.parametrize("env_id", SEVERAL)
def test_infos_of_several_agents_are_numbers(env_id):
    """``PettingZooWrapper`` makes a tensor of each."""
    pytest.importorskip("pettingzoo")
    from fastenv.adapters.pettingzoo import parallel_env

    env = parallel_env(env_id)
    _, infos = env.reset(seed=0)
    told = fastenv.make_vec(env_id, 1, agents="all")
    labelled = told.reset(seed=0)[1]
    for info in infos.values():
        for name, value in info.items():
            assert np.asarray(value).dtype.kind in "biuf", name
            for label in env.game.spec.info_labels.keys() & {name}:
                assert env.game.shown(label, value) == labelled[label][0]
    if env.game.spec.info_labels:  # a game may have no column of words
        assert env.game.spec.info_labels.keys() & infos["player_0"].keys()


@pytest.mark.parametrize("env_id", ONE_OF_EACH_GAME)
def test_gym_env_of_torchrl(env_id):
    envs = pytest.importorskip("torchrl.envs")
    env = envs.GymEnv(f"fastenv/{env_id}")
    envs.check_env_specs(env)
    assert env.rollout(5)["next", "reward"].shape[1:] == (1,)


@pytest.mark.filterwarnings("ignore:PettingZoo in TorchRL is tested using version")
@pytest.mark.parametrize("game", ["DrMarioVersus-v0", "SkullKingWorker-v0"])
def test_petting_zoo_wrapper_of_torchrl(game):
    envs = pytest.importorskip("torchrl.envs")
    from fastenv.adapters.pettingzoo import aec_env, parallel_env

    parallel = f"fastenv/{game}" in SEVERAL
    env = envs.PettingZooWrapper((parallel_env if parallel else aec_env)(game), use_mask=True)
    envs.check_env_specs(env)
    assert len(env.rollout(5)) == 5
