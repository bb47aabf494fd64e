from typing import Any

class PPOTorchLearner:
    config: Any
    _learner_connector: Any
    def build(self) -> None: ...
