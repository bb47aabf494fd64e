"""The agent in the repository is small, whole, and plays as well as its page says."""

from pathlib import Path

from training.evaluation.trained import AGENT, load, play_matches
from training.run.folder import RunFolder

FOLDER = Path(__file__).resolve().parents[2] / "pretrained/skullking"


def test_pretrained_agent_is_small():
    files = [path for path in FOLDER.rglob("*") if path.name != "evaluation.json"]
    assert sum(path.stat().st_size for path in files) < 2_000_000


def test_pretrained_agent_beats_three_hard_bots():
    """Of 200 games that are always the same; the page has those of 4,000."""
    trained = load(RunFolder.open(FOLDER))
    options = trained.config.evaluation.__class__(
        games=200, opponents=("rule_hard",), bootstrap=200
    )
    found = play_matches(trained, options, baselines=())["rule_hard"][AGENT]
    assert found["win_rate"].low > 0.5
    assert found["bid_hit"].low > 0.6
    assert found["margin"].low > 80
