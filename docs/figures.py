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

from tools.figures import cards  # noqa: E402
from tools.figures.drmario import (  # noqa: E402
    calibrated,
    dr_mario,
    dr_mario_compared,
    frames_read,
    look_ahead,
    matches,
    risk_by_level,
    through_frames,
)
from tools.figures.drmario_bots import (  # noqa: E402
    beside_bots,
    bot_matches,
    every_level,
    fastest,
    registered_times,
    strongest,
)
from tools.figures.environments import environments  # noqa: E402
from tools.figures.games import (  # noqa: E402
    QUEST,
    free_games,
    free_memory,
    free_pictures,
    game_boy_agents,
    game_boy_differences,
    game_boy_over_seeds,
    game_boy_roms,
    prospector_pilots,
    prospector_players,
    two_game_boys,
)
from tools.figures.headlines import first_figure, headlines, own_figures  # noqa: E402
from tools.figures.learning import (  # noqa: E402
    agent_milestones,
    champion,
    comparison,
    defaults,
    dqn_beside_ppo,
    ladder,
    milestones,
    pretrained,
    responses,
    trained_variants,
)
from tools.figures.log import measured_speeds, other_records, to_take  # noqa: E402
from tools.figures.search import champion as champion_search  # noqa: E402
from tools.figures.search import (  # noqa: E402
    last_tricks,
    open_cards,
    open_spiel,
    prospector,
    skull_king,
)
from tools.figures.speeds import (  # noqa: E402
    bars,
    flags_alone,
    flags_verdict,
    game_boy,
    replay_steps,
    scale,
    vectorised,
)
from tools.figures.wheels import wheels  # noqa: E402
from training.players import card  # noqa: E402

METADATA = "metadata"  # the mark of what stands at the top of a card


def card_tables(agent: str) -> dict[str, Callable[[], str]]:
    """Return mark to what makes it, of the card of a folder of ``pretrained/``."""
    own: dict[str, dict[str, Callable[[], str]]] = {
        "skullking": {
            "matches": lambda: pretrained("skullking", "trained"),
            "search": champion_search,
        },
        "skullking-ppo": {"matches": lambda: pretrained("skullking-ppo", "trained")},
        "gameboy": {"goal": lambda: game_boy_agents("goal-1")},
        "lantern_walk": {
            "walk": lambda: game_boy_agents("walk-2"),
            "beginning": lambda: game_boy_agents("walk-2", "beginning"),
        },
        "prospector": {"players": lambda: prospector_players("profit-1")},
        "drmario": {"players": beside_bots},
    }
    shown = own.get(agent, {"results": lambda: cards.table(agent)})
    return {METADATA: lambda: cards.metadata(agent), **shown}


def pages() -> dict[str, dict[str, Callable[[], str]]]:
    """Return page to mark to what makes its table."""
    return {
        "README.md": {"first": first_figure, "figures": headlines, "environments": environments},
        "RUNS.md": {
            "milestones": milestones,
            "champion": champion,
            "agents": lambda: pretrained("skullking"),
            "ladder": ladder,
            "responses": responses,
            "agent": agent_milestones,
            "search": skull_king,
            "open_cards": open_cards,
            "last_tricks": last_tricks,
            "searched_trips": prospector,
            "openspiel": open_spiel,
            "pretrained": lambda: pretrained("skullking-ppo"),
            "variants": lambda: comparison("variants-*-seeds.json"),
            "options": lambda: comparison("options-*-seeds.json", but="decoded bids"),
            "defaults": defaults,
            "drmario": dr_mario,
            "heads": dr_mario_compared,
            "versus": matches,
            "goal": lambda: game_boy_agents("goal"),
            "walk": lambda: game_boy_agents("walk"),
            "beginning": lambda: game_boy_agents("walk", "beginning"),
            "parts": lambda: trained_variants("lantern-walk-parts.json", QUEST),
            "walks": lambda: game_boy_over_seeds(["walk-1", "walk-2", "walk-3"]),
            "hindsight": lambda: comparison("hindsight-*-seeds.json", "less_baseline"),
            "trainers": lambda: bars("trainers.jsonl"),
            "training": lambda: bars("training.jsonl"),
            "views": lambda: bars("views.jsonl"),
            "replay": lambda: bars("replay.jsonl"),
            "searching": lambda: bars("search.jsonl"),
            "steps": replay_steps,
            "bars": lambda: bars("bars.jsonl"),
            "log": measured_speeds,
            "records": other_records,
        },
        "docs/explanation/benchmarks.md": {"vectorised": vectorised, "flags": flags_alone},
        "docs/explanation/figures.md": {"figures": own_figures},
        "docs/howto/install.md": {"wheels": wheels, "flags": flags_verdict},
        "docs/howto/reproduce.md": {"speeds": to_take},
        "docs/howto/dqn.md": {"choice": dqn_beside_ppo},
        "docs/drmario.md": {"speeds": lambda: bars("bars.jsonl", "DrMario")},
        "docs/howto/train_drmario.md": {
            "strongest": strongest,
            "bots": every_level,
            "fastest": fastest,
            "times": registered_times,
            "matches": bot_matches,
            "learnt": beside_bots,
            "heads": lambda: trained_variants("drmario-heads.json", {"clear": "cleared"}),
        },
        "docs/howto/drmario_lookahead.md": {
            "lookahead": look_ahead,
            "averse": lambda: look_ahead("drmario-averse.json"),
            "deeper": lambda: look_ahead("drmario-averse-depth2.json"),
            "risk": risk_by_level,
            "calibration": calibrated,
        },
        "docs/howto/drmario_reader.md": {"reader": frames_read, "through": through_frames},
        "docs/gameboy.md": {
            "differences": game_boy_differences,
            "roms": game_boy_roms,
            "speeds": game_boy,
            "free-games": free_games,
            "free-pictures": free_pictures,
            "free-memory": free_memory,
            "link": two_game_boys,
        },
        "docs/howto/train_skullking.md": {"players": lambda: pretrained("skullking")},
        "docs/howto/train_prospector.md": {
            "players": prospector_players,
            "pilots": prospector_pilots,
        },
        "docs/howto/many_machines.md": {"measured": scale},
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
