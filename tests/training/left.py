"""What a run has left in its folder, as tests read it."""

from training.run import checkpoint
from training.run.jsonl import read_lines

CLOCK = ("time", "wall_s", "sps", "sps_cpu", "phases", "mem")


def lines(run, name="metrics"):
    """Return the lines of one of its logs."""
    return read_lines(run / f"{name}.jsonl")


def timeless(run, name="metrics"):
    """Return the lines of one of its logs without what comes from the clock."""
    return [{k: v for k, v in line.items() if k not in CLOCK} for line in lines(run, name)]


def events(run, kind):
    """Return the events of a kind."""
    return [event for event in lines(run, "events") if event["event"] == kind]


def newest(run):
    """Return its newest checkpoint."""
    return checkpoint.load(checkpoint.newest(run / "checkpoints"), {})


def parameters(run):
    """Return the parameters in its newest checkpoint."""
    return newest(run).model["policy"]
