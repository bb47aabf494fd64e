"""The agents of the repository are small, whole, and play as their records say."""

import json
import subprocess
from pathlib import Path

import pytest

from tests.needs import needs_core
from tests.training.played import play_episodes
from tools.figures.search import compare_with_alone
from training.apps.skullking.evaluation import play_matches
from training.evaluation.judging import CURVE
from training.games.gameboy.evaluation import LENGTH, held_out
from training.players.trained import DRAWN, load
from training.run.envs import make_engine
from training.run.folder import RunFolder
from training.run.seating import AGENT

ROOT = Path(__file__).resolve().parents[2]
CHAMPION = ROOT / "pretrained/skullking"
SECOND = ROOT / "pretrained/skullking-2"
FOLDER = ROOT / "pretrained/skullking-ppo"
DRMARIO = ROOT / "pretrained/drmario"
GAMEBOY = ROOT / "pretrained/gameboy"
LANTERN_WALK = ROOT / "pretrained/lantern_walk"
PROSPECTOR = ROOT / "pretrained/prospector"
FOLDERS = (CHAMPION, SECOND, FOLDER, DRMARIO, GAMEBOY, LANTERN_WALK, PROSPECTOR)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_pretrained_agent_is_small(folder):
    parts = [folder / "config.json", folder / "README.md", *(folder / "checkpoints").rglob("*")]
    assert all(path.exists() for path in parts)
    files = [path for path in parts if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 2_000_000


RESULTS = (
    *("evaluation.json", "episodes.jsonl", "milestones.json", "replay_index.json"),
    "replays/replay-000000-00000000.jsonl.gz",
)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a checkout")
@pytest.mark.parametrize("name", RESULTS)
def test_what_it_is_asked_to_play_leaves_no_untracked_files(name):
    asked = ["git", "check-ignore", "--quiet", str(FOLDER / name)]
    assert subprocess.run(asked, cwd=ROOT, check=False).returncode == 0
    asked[-1] = str(FOLDER / "config.json")
    assert subprocess.run(asked, cwd=ROOT, check=False).returncode == 1


@pytest.mark.parametrize(
    ("champion", "name"),
    [
        ("pretrained/skullking", "skullking-champion-search.json"),
        ("pretrained/skullking-2", "skullking-2-search.json"),
    ],
)
def test_what_the_cards_say_of_searches_of_the_champions(champion, name):
    record = json.loads((ROOT / "benchmarks" / name).read_text())
    played = {(row["who"], row["against"]): row["win_share"] for row in record["rows"]}
    others = {against for who, against in played if who == champion}
    assert others >= {"rule_hard", "heuristic", "pretrained/skullking-ppo", champion}
    paired = compare_with_alone(record["rows"])
    for (who, against), (_, _, high) in played.items():  # nobody loses by a search as it is
        if "rollouts=" in who:  # which says that the opponents play otherwise than they do
            continue
        if (who, against) in paired:
            assert paired[who, against].high >= 0, (who, against)
        elif who != champion:
            assert high >= played[champion, against][0], (who, against)
    low = played[f"search:{champion},worlds=32", "rule_hard"][1]
    assert low > played[champion, "rule_hard"][0]


@pytest.mark.parametrize(
    ("folder", "seeds"),
    [(CHAMPION, "champion-5-seeds.json"), (SECOND, "skullking-2-5-seeds.json")],
    ids=lambda each: getattr(each, "name", each),
)
def test_an_agent_is_one_of_the_trainings_of_its_record(folder, seeds):
    """Its games are those of an own record, its training one of several."""
    played = json.loads((ROOT / f"benchmarks/pretrained-{folder.name}.json").read_text())
    trained = json.loads((ROOT / "benchmarks" / seeds).read_text())
    head = json.loads((folder / "config.json").read_text())
    assert played["checkpoint"] == (folder / "checkpoints/latest").read_text().strip()
    assert played["config_sha256"] == head["sha256"]
    assert [record["dirty"] for record in (played, trained, head)] == [False] * 3
    assert trained["git_rev"] == head["git_rev"]
    assert str(head["config"]["seed"]) in trained["runs"]
    assert len(trained["runs"]) >= 3


def test_the_second_champion_wins_more_games_against_every_opponent():
    """As its card says; on the same deals."""
    first, second = (
        json.loads((ROOT / f"benchmarks/pretrained-{folder.name}.json").read_text())["matches"]
        for folder in (CHAMPION, SECOND)
    )
    assert first["first_seed"] == second["first_seed"]
    assert first["results"].keys() == second["results"].keys()
    for opponents, players in second["results"].items():
        wins = players[AGENT]["win_rate"]
        assert wins[0] > first["results"][opponents][AGENT]["win_rate"][0], opponents


def test_records_are_of_the_agent_that_lies_there():
    records = [
        json.loads((ROOT / f"benchmarks/pretrained-skullking-ppo{name}.json").read_text())
        for name in ("", "-milestones")
    ]
    head = json.loads((FOLDER / "config.json").read_text())
    assert head["dirty"] is False
    assert records[1]["trained"]["git_rev"] == head["git_rev"]
    assert records[0]["checkpoint"] == (FOLDER / "checkpoints/latest").read_text().strip()
    assert records[1]["checkpoints"][-1]["checkpoint"] == records[0]["checkpoint"]
    assert {record["config_sha256"] for record in records} == {head["sha256"]}
    assert [record["dirty"] for record in records] == [False, False]


@pytest.mark.parametrize("folder", [CHAMPION, SECOND, FOLDER], ids=lambda folder: folder.name)
def test_pretrained_agent_plays_against_hard_bots_as_its_record_says(folder):
    """200 games that are always the same; the record, which has 4,000, is no interval away."""
    record = json.loads((ROOT / f"benchmarks/pretrained-{folder.name}.json").read_text())
    of_record = record["matches"]["results"]["rule_hard"][AGENT]
    trained = load(RunFolder.open(folder))
    options = trained.config.evaluation.__class__(
        games=200, opponents=("rule_hard",), bootstrap=200
    )
    found = play_matches(trained, options, CURVE)["rule_hard"][AGENT]
    for name in ("win_rate", "bid_hit", "margin"):
        away = abs(found[name].value - of_record[name][0])
        assert away < found[name].high - found[name].low, name
    assert found["win_rate"].low > 0.5


@needs_core
@pytest.mark.parametrize(("folder", "least"), [(GAMEBOY, 0.9), (LANTERN_WALK, 0.95)])
@pytest.mark.slow
def test_pretrained_agent_gets_there_from_states_that_it_has_not_seen(folder, least):
    """64 episodes that are always the same; the pages have those of 256."""
    trained = load(RunFolder.open(folder))
    options = {**trained.config.env_options, **held_out(trained.config), **LENGTH}
    assert options["states"].endswith("_held_out")
    assert options["sticky"] == 0.25
    engine = make_engine(trained.config.env, 64, options)
    played = play_episodes(engine, trained.players()[DRAWN], 64, 0, options["max_steps"])
    assert played["terminated"].mean() > least


@needs_core
def test_pretrained_agent_earns_and_comes_home():
    """100 of the 300 worlds of the record."""
    trained = load(RunFolder.open(PROSPECTOR))
    engine = make_engine(trained.config.env, 100, trained.config.env_options)
    found = play_episodes(engine, trained.players()[DRAWN], 100, 7, 2000).summary()
    assert found["net_profit_mean"] > 700  # the bots rich_haul and short_haul: 1162 and 258
    assert found["survival_rate"] >= 0.97
    assert found["guard_truncated_count"] == 0
