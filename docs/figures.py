"""Write the tables of figures of all pages from the records in benchmarks/.

Run ``python docs/figures.py`` after a new record is there: of each kind the newest one counts. A
test compares, so that no figure of these tables stands anywhere but in a record.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))  # of `python docs/figures.py` the first is docs/

from tools.figures import (  # noqa: E402
    bids,
    cards,
    drmario,
    environments,
    games,
    headlines,
    learning,
    log,
    search,
    searches,
    speeds,
    wheels,
)
from training.players import card  # noqa: E402

METADATA = "metadata"  # the mark of what stands at the top of a card


def card_tables(agent: str) -> dict[str, Callable[[], str]]:
    """Return mark to what makes it, of the card of a folder of ``pretrained/``."""
    own: dict[str, dict[str, Callable[[], str]]] = {
        "skullking": {
            "matches": lambda: learning.pretrained("skullking", "trained"),
            "search": search.champion,
            "bids": lambda: bids.by_strength("skullking-bids.json"),
            "hands": lambda: bids.hands("skullking-bids.json"),
        },
        "skullking-2": {
            "matches": lambda: learning.pretrained("skullking-2", "trained"),
            "search": lambda: search.champion("skullking-2-search.json"),
            "bids": lambda: bids.by_strength("skullking-2-bids.json"),
            "hands": lambda: bids.hands("skullking-2-bids.json"),
        },
        "skullking-ppo": {"matches": lambda: learning.pretrained("skullking-ppo", "trained")},
        "gameboy": {"goal": lambda: games.game_boy_agents("goal-1")},
        "lantern_walk": {
            "walk": lambda: games.game_boy_agents("walk-2"),
            "beginning": lambda: games.game_boy_agents("walk-2", "beginning"),
        },
        "prospector": {"players": lambda: games.prospector_players("profit-1")},
        "drmario": {"players": drmario.beside_bots},
    }
    shown = own.get(agent, {"results": lambda: cards.table(agent)})
    return {METADATA: lambda: cards.metadata(agent), **shown}


def pages() -> dict[str, dict[str, Callable[[], str]]]:
    """Return page to mark to what makes its table."""
    return {
        "README.md": {
            "first": headlines.first_figure,
            "figures": headlines.headlines,
            "environments": environments.environments,
        },
        "RUNS.md": {
            "milestones": learning.milestones,
            "champion": learning.champion,
            "agents": lambda: learning.pretrained("skullking"),
            "bids": lambda: bids.overall("skullking-bids.json"),
            "second": lambda: learning.champion("skullking-2-*-seeds.json"),
            "second_bars": lambda: learning.bars_over_seeds("skullking-2-*-seeds.json"),
            "first_bars": lambda: learning.bars_over_seeds("make-train-*-seeds.json"),
            "second_bids": lambda: bids.overall("skullking-2-bids.json"),
            "ladder": learning.ladder,
            "responses": learning.responses,
            "mixed_bars": learning.exploitability_bars,
            "agent": learning.agent_milestones,
            "second_search": lambda: search.champion("skullking-2-search.json"),
            "champion_search": search.champion,
            "search": search.skull_king,
            "open_cards": search.open_cards,
            "last_tricks": search.last_tricks,
            "searched_trips": search.prospector,
            "openspiel": search.open_spiel,
            "pretrained": lambda: learning.pretrained("skullking-ppo"),
            "variants": lambda: learning.comparison("variants-*-seeds.json"),
            "options": lambda: learning.comparison("options-*-seeds.json", but="decoded bids"),
            "defaults": learning.defaults,
            "drmario": drmario.dr_mario,
            "heads": drmario.dr_mario_compared,
            "versus": drmario.matches,
            "goal": lambda: games.game_boy_agents("goal"),
            "walk": lambda: games.game_boy_agents("walk"),
            "beginning": lambda: games.game_boy_agents("walk", "beginning"),
            "parts": lambda: learning.trained_variants("lantern-walk-parts.json", games.QUEST),
            "walks": lambda: games.game_boy_over_seeds(["walk-1", "walk-2", "walk-3"]),
            "hindsight": lambda: learning.comparison("hindsight-*-seeds.json", "less_baseline"),
            "trainers": lambda: speeds.bars("trainers.jsonl"),
            "training": lambda: speeds.bars("training.jsonl"),
            "views": lambda: speeds.bars("views.jsonl"),
            "replay": lambda: speeds.bars("replay.jsonl"),
            "searching": lambda: speeds.bars("search.jsonl"),
            "steps": speeds.replay_steps,
            "foreign": lambda: speeds.bars("foreign.jsonl"),
            "bars": lambda: speeds.bars("bars.jsonl"),
            "log": log.measured_speeds,
            "records": log.other_records,
        },
        "docs/explanation/benchmarks.md": {
            "vectorised": speeds.vectorised,
            "flags": speeds.flags_alone,
        },
        "docs/explanation/figures.md": {"figures": headlines.own_figures},
        "docs/howto/install.md": {"wheels": wheels.wheels, "flags": speeds.flags_verdict},
        "docs/howto/reproduce.md": {"speeds": log.to_take},
        "docs/howto/verify_any.md": {
            "faults": searches.faults_found,
            "correct": searches.correct_environments,
        },
        "docs/howto/training.md": {"first": games.first_agents, "cores": speeds.cores},
        "docs/howto/mixed_strategies.md": {"falls": learning.exploitability},
        "docs/howto/train_pokemon.md": {"parcel": games.parcel},
        "docs/howto/dqn.md": {"choice": learning.dqn_beside_ppo},
        "docs/drmario.md": {"speeds": lambda: speeds.bars("bars.jsonl", "DrMario")},
        "docs/howto/train_drmario.md": {
            "strongest": drmario.strongest,
            "bots": drmario.every_level,
            "fastest": drmario.fastest,
            "times": drmario.registered_times,
            "matches": drmario.bot_matches,
            "learnt": drmario.beside_bots,
            "heads": lambda: learning.trained_variants("drmario-heads.json", {"clear": "cleared"}),
        },
        "docs/howto/drmario_lookahead.md": {
            "lookahead": drmario.look_ahead,
            "averse": lambda: drmario.look_ahead("drmario-averse.json"),
            "deeper": lambda: drmario.look_ahead("drmario-averse-depth2.json"),
            "risk": drmario.risk_by_level,
            "calibration": drmario.calibrated,
        },
        "docs/howto/drmario_reader.md": {
            "reader": drmario.frames_read,
            "through": drmario.through_frames,
        },
        "docs/gameboy.md": {
            "differences": games.game_boy_differences,
            "roms": games.game_boy_roms,
            "speeds": speeds.game_boy,
            "hooks": speeds.hooks,
            "free-games": games.free_games,
            "free-pictures": games.free_pictures,
            "free-memory": games.free_memory,
            "link": games.two_game_boys,
        },
        "docs/howto/train_skullking.md": {"players": lambda: learning.pretrained("skullking")},
        "docs/howto/train_prospector.md": {
            "players": games.prospector_players,
            "pilots": games.prospector_pilots,
        },
        "docs/howto/many_machines.md": {"measured": speeds.scale},
        "docs/howto/own_environment.md": {
            "learns": learning.foreign_tasks,
            "ways": speeds.one_game,
        },
        **{f"pretrained/{name}/README.md": card_tables(name) for name in cards.AGENTS},
    }


def with_tables(page: str) -> str:
    """Return a page with its tables between their marks, and the metadata of a card at its top."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for mark, make in pages()[page].items():
        if mark == METADATA:
            text = make() + card.split(text)[1]
            continue
        begin, end = f"<!-- {mark}:begin -->\n", f"\n<!-- {mark}:end -->"
        before, _, rest = text.partition(begin)
        _, found, behind = rest.partition(end)
        assert found, f"{page} has no place for {mark}"
        text = before + begin + make() + end + behind
    return text


if __name__ == "__main__":
    for page in pages():
        (ROOT / page).write_text(with_tables(page), encoding="utf-8")
