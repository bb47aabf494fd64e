"""MiniGrid's environments as images: train one as ``--env docs.examples.mini_grid:make_images``.

MiniGrid shows a ``Dict`` with a text, the mission, which no network here reads. Its wrapper
``ImgObsWrapper`` leaves the image alone. A factory is all that a run needs to have wrappers.
"""

from __future__ import annotations

from typing import Any

import gymnasium


def make_images(env_id: str = "MiniGrid-Empty-5x5-v0", **options: Any) -> gymnasium.Env[Any, Any]:
    """Make an environment of MiniGrid that shows its image alone.

    Parameters
    ----------
    env_id : str
        Of MiniGrid.
    **options
        Of ``gymnasium.make``.
    """
    from minigrid.wrappers import ImgObsWrapper

    return ImgObsWrapper(gymnasium.make(f"minigrid:{env_id}", **options))


if __name__ == "__main__":
    env = make_images()
    obs, info = env.reset(seed=0)
    print(obs.shape)
