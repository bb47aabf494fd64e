"""Options that shape networks; the trainers' sections have them among their own."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from pydantic import model_validator

from training.run import games
from training.run.options import Options, Text, Truth, Whole, option, require

Encoder = Literal["auto", "flat", "conv", "pixels"]
Memory = Literal["none", "gru", "lstm", "ssm", "gru_lstm", "ssm_gru_lstm"]
Activation = Literal["relu", "tanh", "gelu"]
Convolutions = tuple[tuple[Whole, ...], ...]
BOARD = ((32, 5, 5), (32, 3, 3))  # three cells each way are seen
# Channels, side of the kernel and stride of the convolutions of Mnih et al., Human-level control
# through deep reinforcement learning, 2015.
NATURE = ((32, 8, 4), (64, 4, 2), (64, 3, 1))
_ENCODER = (
    "``auto``: images and boards in an observation go through convolutions, the rest is flattened; "
    "``flat``: everything is; ``conv``: as ``auto``, and there must be an image; ``pixels``: a "
    "larger network for images"
)
_CONVS = "convolutions over an image: channels, side of the kernel and stride of each"
_BOARD = (
    "convolutions over a board or a small image, which keep its size: channels, height and width "
    "of each, the latter odd"
)
_RECURRENT = (
    "a cell of ``recurrent_size`` behind the hidden layers; the last two have a GRU and an LSTM of "
    "half of it each, side by side, behind an ``ssm`` or without one"
)


class HiddenConfig(Options):
    """Hidden layers."""

    net_arch: tuple[Whole, ...] = option(
        (256, 256),
        "hidden layers of the policy network and, separately, of the value network; with "
        "``native.trunk: shared``, of both together",
    )
    activation: Activation = option("relu", "between the layers")


class EncoderConfig(Options):
    """Options of the encoder of observations, and of the memory behind the hidden layers."""

    encoder: Encoder = option("auto", _ENCODER)
    convs: Convolutions = option(NATURE, _CONVS)
    board: Convolutions = option(BOARD, _BOARD)
    recurrent: Memory = option("none", _RECURRENT)
    recurrent_size: Whole = option(128, "output of the cell", ge=1)

    @model_validator(mode="after")
    def _check_encoder(self) -> EncoderConfig:
        triples = bool(self.convs) and all(len(c) == 3 and min(c) >= 1 for c in self.convs)
        allowed = "one or more of [channels, side, stride], each at least 1"
        require(triples, f"{self.SECTION}convs", self.convs, allowed)
        triples = bool(self.board) and all(len(c) == 3 and min(c) >= 1 for c in self.board)
        centred = triples and all(height % 2 == width % 2 == 1 for _, height, width in self.board)
        allowed = "one or more of [channels, height, width], each at least 1, the last two odd"
        require(centred, f"{self.SECTION}board", self.board, allowed)
        if self.recurrent != "none":
            even = self.recurrent in ("gru", "lstm") or self.recurrent_size % 2 == 0
            allowed = f"even, as {self.recurrent} has two halves"
            require(even, f"{self.SECTION}recurrent_size", self.recurrent_size, allowed)
        return self

    @property
    def state_numbers(self) -> int:
        """Numbers of the state of a lane; see :mod:`training.nets.recurrent`."""
        size = self.recurrent_size
        both = size // 2 + size // 2 * 2
        sizes = {"none": 0, "gru": size, "lstm": 2 * size, "ssm": 64}
        return {**sizes, "gru_lstm": both, "ssm_gru_lstm": 64 + both}[self.recurrent]


def find_auxiliary_modes() -> dict[str, Any]:
    """Find the modes of ``native.hindsight`` of all games.

    The capability ``auxiliary_modes`` has them by name. Each has ``outputs``, the numbers that the
    further head has that it needs; 0 for none.
    """
    every = games.find_all("auxiliary_modes")
    return {name: mode for modes in every for name, mode in modes.items()}


class ActorCriticConfig(EncoderConfig):
    """Options of the network of policy and value, beside its hidden layers."""

    SECTION: ClassVar[str] = "native."

    trunk: Literal["separate", "shared"] = option(
        "separate", "whether policy and value have hidden layers of their own"
    )
    heads: Literal[
        "single",
        "phase",
        "placements",
        "map",
        "shift_and_score",
        "factorised",
        "cell_attention",
        "cards",
    ] = option(
        "single",
        "``phase``: a policy head for each decision phase, for tiers that show the phase; "
        "``placements``: each action is scored by what convolutions find where it fills the board, "
        "and only those that are possible; ``map``, ``shift_and_score``, ``factorised`` and "
        "``cell_attention``: a plane of scores for each orientation. All five are for games that "
        "tell where actions lie. ``cards``: each card in hand is scored by what it is, for tiers "
        "that show cards",
    )
    attention: Whole = option(
        0, "width of the attention over card slots, for tiers that show cards; 0 for none", ge=0
    )
    normalize_observations: Truth = option(
        False,
        "numbers beside images are scaled by their mean and deviation so far, which are saved with "
        "the network",
    )
    critic_view: Truth = option(
        False,
        "the value network also sees what the game hides from the player, such as all hands; the "
        "policy does not",
    )
    hindsight: Text = option("off", "a further loss that the game offers, ``off`` for none")

    @model_validator(mode="after")
    def _check_hindsight(self) -> ActorCriticConfig:
        if self.hindsight == "off":
            return self  # no game need be imported to know that
        modes = ("off", *find_auxiliary_modes())
        allowed = "one of " + ", ".join(map(repr, modes))
        require(self.hindsight in modes, "native.hindsight", self.hindsight, allowed)
        return self

    @model_validator(mode="after")
    def _check_critic_view(self) -> ActorCriticConfig:
        if self.critic_view:
            alone = {"trunk": "separate", "recurrent": "none", "hindsight": "off"}
            for name, needed in alone.items():
                value = getattr(self, name)
                allowed = f"{needed!r} with native.critic_view"
                require(value == needed, f"native.{name}", value, allowed)
        return self

    @property
    def aux_head(self) -> int:
        """Outputs of a further head on the policy's hidden layers, for hindsight; 0 for none."""
        if self.hindsight == "off":
            return 0
        outputs: int = find_auxiliary_modes()[self.hindsight].outputs
        return outputs


class QNetworkConfig(HiddenConfig, EncoderConfig):
    """Options of the network of DQN."""

    SECTION: ClassVar[str] = "dqn."

    net_arch: tuple[Whole, ...] = option((256, 256), "hidden layers; there may be none")
    dueling: Truth = option(
        True,
        "a value of the state and advantages of the actions, rather than a value for each action",
    )
    num_quantiles: Whole = option(
        51,
        "of the distribution of returns that is learnt by quantile regression; 1 learns a number",
        ge=1,
    )
    noisy: Truth = option(
        False,
        "explore with noise in the last layers; ``epsilon_start`` and ``epsilon_end`` hold as well",
    )
    stack_k: Whole = option(
        1,
        "frames that the network sees; the replay keeps them one by one and puts them together "
        "when they are drawn. For environments that show a single one, ``env_options.stack_k: 1``",
        ge=1,
    )
