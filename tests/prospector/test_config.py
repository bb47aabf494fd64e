"""The options of Asteroid Prospector, all one of them."""

import numpy as np
import pytest

from fastenv.errors import ConfigError
from fastenv.prospector.config import ProspectorConfig
from tests.tables import walk


@pytest.mark.parametrize("value", [120, 120.0, np.float32(120), np.int64(120)])
def test_time_max_becomes_a_float(value):
    config = ProspectorConfig.from_options(time_max=value)
    assert (config.time_max, type(config.time_max)) == (120.0, float)
    assert config.rules_record()["time_max"].tolist() == [120.0]
    assert config == ProspectorConfig(120.0)


def test_the_default_is_that_of_the_contract():
    assert ProspectorConfig().time_max == 20_000.0


@walk("value", [0, -1, np.nan, np.inf, 10**400, True, "120", None, [120]])
def test_other_values_are_refused(value):
    with pytest.raises(ConfigError, match=r"^time_max=.*positive finite number"):
        ProspectorConfig(time_max=value)


def test_other_options_are_refused():
    with pytest.raises(ConfigError, match=r"'reward' is not an option .* options: time_max"):
        ProspectorConfig.from_options(reward="shaped")


def test_replace_validates_again():
    assert ProspectorConfig().replace(time_max=5).time_max == 5.0
    with pytest.raises(ConfigError):
        ProspectorConfig().replace(time_max=0)
