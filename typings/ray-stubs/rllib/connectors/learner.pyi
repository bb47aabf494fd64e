from collections.abc import Iterator
from typing import Any

class GeneralAdvantageEstimation:
    gamma: float
    lambda_: float
    def __init__(
        self,
        input_observation_space: Any = None,
        input_action_space: Any = None,
        *,
        gamma: float,
        lambda_: float,
    ) -> None: ...
    def __call__(
        self, *, rl_module: Any, episodes: list[Any], batch: dict[str, Any], **kwargs: Any
    ) -> Any: ...
    def single_agent_episode_iterator(
        self, episodes: list[Any], agents_that_stepped_only: bool = True
    ) -> Iterator[Any]: ...
