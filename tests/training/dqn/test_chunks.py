"""T9: transitions written in chunks are those that a queue for each lane would write."""

import threading

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fastenv.errors import ConfigError
from tests.training.dqn.twins import ListReplay, by_deque
from training.dqn.chunks import Chunk, NStepChunkWriter, TransitionRing

LANES, ACTIONS = 3, 5


def history(seed, rows):
    """Random decisions: rows of all lanes, and by lane as the twin has them."""
    rng = np.random.default_rng(seed)
    end = rng.choice(3, size=(rows, LANES), p=(0.7, 0.15, 0.15)).astype(np.uint8)
    chunk = Chunk(
        obs=torch.arange(rows * LANES).view(rows, LANES, 1),
        mask=torch.from_numpy(rng.random((rows, LANES, ACTIONS)) < 0.5),
        action=torch.from_numpy(rng.integers(ACTIONS, size=(rows, LANES))),
        reward=torch.from_numpy(rng.normal(size=(rows, LANES)).astype("f4")),
        discount=torch.from_numpy(rng.random((rows, LANES)).astype("f4")),
        end=torch.from_numpy(end),
        final_at=torch.arange(rows * LANES).view(rows, LANES).flip(0),
        final_obs=1000 + torch.arange(rows * LANES).view(-1, 1),
    )
    twin = ListReplay(LANES, 1)
    for t in range(rows - 1):
        for lane in range(LANES):
            one = {name: x[t, lane] for name, x in vars(chunk).items() if name != "final_obs"}
            behind = {"next_obs": chunk.obs[t + 1, lane], "next_mask": chunk.mask[t + 1, lane]}
            numbers = {k: one[k].item() for k in ("reward", "discount", "end")}
            final = chunk.final_obs[one["final_at"]]
            twin.store(lane, **{**one, **numbers, **behind, "final": final})
    return chunk, twin


def part(chunk, first, rows):
    """Rows of a chunk, with all last observations."""
    cut = {name: x[first : first + rows] for name, x in vars(chunk).items() if name != "final_obs"}
    return Chunk(**cut, final_obs=chunk.final_obs)


@given(
    seed=st.integers(0, 2**32 - 1),
    n_step=st.integers(1, 5),
    sizes=st.lists(st.integers(1, 20), min_size=1, max_size=5),
    threaded=st.booleans(),
)
def test_chunks_write_what_a_queue_for_each_lane_writes(seed, n_step, sizes, threaded):
    total = sum(sizes)
    chunk, twin = history(seed, total + n_step + 1)
    ring = TransitionRing(LANES * 20 + 1)  # it wraps around in the middle of a row
    writer = NStepChunkWriter(ring, n_step, (lambda obs: obs + 0) if threaded else None)
    first = 0
    for size in sizes:
        writer.write(part(chunk, first, size + n_step))
        first += size
    writer.close()
    assert ring.size == min(total * LANES, ring.capacity)
    assert ring.head == total * LANES % ring.capacity
    for lane, decisions in enumerate(twin.lanes):
        numbers = [(d["reward"], d["discount"], d["end"]) for d in decisions]
        for t, reward, discount, length in by_deque(numbers, n_step):
            number = t * LANES + lane
            if not total * LANES - ring.size <= number < total * LANES:
                continue  # overwritten, or not finished yet
            at, last = number % ring.capacity, decisions[t + length - 1]
            cut = last["end"] == 2
            found = {name: x[at] for name, x in vars(ring.stored).items()}
            assert found["obs"].item() == number
            assert found["action"] == decisions[t]["action"]
            assert found["reward"].item() == pytest.approx(reward, rel=1e-6, abs=1e-6)
            assert found["discount"].item() == pytest.approx(discount, rel=1e-6, abs=1e-6)
            assert torch.equal(found["next_obs"], last["final" if cut else "next_obs"])
            assert torch.equal(found["next_mask"], last["mask" if cut else "next_mask"])


def test_decoding_runs_beside_the_caller_and_keeps_the_order():
    chunk, _ = history(1, 12)
    begun, go_on = threading.Event(), threading.Event()

    def decode(obs):
        begun.set()
        assert go_on.wait(60)
        return obs * 2

    ring = TransitionRing(100)
    writer = NStepChunkWriter(ring, 2, decode)
    writer.write(part(chunk, 0, 7))
    assert begun.wait(60)  # the caller goes on meanwhile
    assert ring.size == 0
    go_on.set()
    writer.write(part(chunk, 5, 7))
    writer.close()
    assert ring.stored.obs[: ring.size, 0].tolist() == [2 * k for k in range(10 * LANES)]


def test_what_decoding_raised_is_raised_at_the_next_chunk():
    def decode(obs):
        raise OSError("no such frame")

    chunk, _ = history(2, 12)
    writer = NStepChunkWriter(TransitionRing(100), 2, decode)
    writer.write(part(chunk, 0, 7))
    with pytest.raises(OSError, match="no such frame"):
        writer.write(part(chunk, 5, 7))
    writer.close()


def test_what_cannot_be_written_is_refused_with_nothing_stored():
    chunk, _ = history(3, 12)
    ring = TransitionRing(10)
    writer = NStepChunkWriter(ring, 3)
    with pytest.raises(ConfigError, match="rows of a chunk=3 is not possible"):
        writer.write(part(chunk, 0, 3))
    with pytest.raises(ConfigError, match=r"capacity=10 is not possible: .* at least 27"):
        writer.write(chunk)
    assert (ring.size, ring.stored) == (0, None)
    for refused in (lambda: TransitionRing(0), lambda: NStepChunkWriter(ring, 0)):
        with pytest.raises(ConfigError, match="at least 1"):
            refused()
