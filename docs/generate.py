"""Write tables of pages from the code: observations of the games, limits, configs, the studio's.

Run ``python docs/generate.py`` after a change of a layout. A test compares.
"""

from __future__ import annotations

import json
import math
import re
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
FRAMES_A_SECOND = 60  # of the studio at the page
sys.path.insert(0, str(FOLDER.parent))  # of `python docs/generate.py` the first is docs/

import fastenv  # noqa: E402
from fastenv.checks import MAX_THREADS  # noqa: E402
from fastenv.drmario.layout import AUX, AUX_VERSUS, PLANES  # noqa: E402
from fastenv.game import Game  # noqa: E402
from fastenv.gameboy.buttons import MAX_CHORDS  # noqa: E402
from fastenv.gameboy.cartridge import _MOST_ROM, RAM_SIZES  # noqa: E402
from fastenv.gameboy.config import MAX_AUDIO_FRAMES, MAX_FRAMES, MAX_STACK  # noqa: E402
from fastenv.gameboy.expressions import MAX_LENGTH, grammar  # noqa: E402
from fastenv.gameboy.ram_hooks import MAX_HOOKS, MAX_WRITES  # noqa: E402
from fastenv.gameboy.ram_map import MAX_EVENT_BYTES  # noqa: E402
from fastenv.gameboy.ram_memory import MAX_CAPACITY, MAX_MEMORY  # noqa: E402
from fastenv.gameboy.ram_program import MAX_REWARDS  # noqa: E402
from fastenv.prospector.layout import OBS_LAYOUT  # noqa: E402
from fastenv.prospector.tables import MAX_ASTEROIDS, MAX_NODES  # noqa: E402
from fastenv.registry import short_id  # noqa: E402
from fastenv.skullking.layout import layout_table  # noqa: E402
from fastenv.skullking.tables import MAX_CARDS, MAX_ROUNDS, Tier  # noqa: E402
from training.run import games as training_games  # noqa: E402
from training.studio.messages import message_rows  # noqa: E402


def prospector_table() -> str:
    """Return the observation of Prospector as a Markdown table."""
    lines = ["| index | block | content |", "|---|---|---|"]
    for name, offset, length, text in OBS_LAYOUT:
        index = str(offset) if length == 1 else f"{offset}..{offset + length - 1}"
        lines.append(f"| {index} | `{name}` | {text} |")
    return "\n".join(lines)


def drmario_planes() -> str:
    """Return the planes of Dr. Mario's observations as a Markdown table."""
    lines = ["| `obs` | C | planes |", "|---|---|---|"]
    for name, planes in PLANES.items():
        lines.append(f"| `{name}` | {len(planes)} | {', '.join(planes) or 'nothing'} |")
    return "\n".join(lines)


def drmario_aux() -> str:
    """Return Dr. Mario's auxiliary vector as a Markdown table."""
    lines, offset = ["| index | block | content |", "|---|---|---|"], 0
    for name, length, text in AUX + AUX_VERSUS:
        index = str(offset) if length == 1 else f"{offset}..{offset + length - 1}"
        lines.append(f"| {index} | {name} | {text} |")
        offset += length
    return "\n".join(lines)


def configs() -> str:
    """Return which file a run takes that names environment and trainer alone, as a table."""
    lines = ["| environment | trainer | file |", "|---|---|---|"]
    for name in fastenv.list_envs():
        record = training_games.get_game(name)
        trainers_of: dict[str, list[str]] = {}
        for trainer, file in record.files.items():
            usual = ", also where none is named" if trainer == record.trainer else ""
            trainers_of.setdefault(file, []).append(f"`{trainer}`{usual}")
        for file, trainers in trainers_of.items():
            lines.append(f"| `{short_id(name)}` | {', '.join(trainers)} | `{file}` |")
    return "\n".join(lines)


def studio_messages() -> str:
    """Return what a client may send to the studio as a Markdown table."""
    lines = ["| kind | fields | |", "|---|---|---|"]
    for kind, fields, about in message_rows():
        said = "<br>".join(f"`{name}`: {text}" if text else f"`{name}`" for name, text in fields)
        lines.append(f"| `{kind}` | {said} | {about} |")
    return "\n".join(lines)


def studio_bars() -> str:
    """Return what the studio was measured at as a Markdown table."""
    record = json.loads((FOLDER.parent / "benchmarks" / "studio.json").read_text(encoding="utf-8"))
    start, many = record["start"], record["sessions"]
    lines = ["| what | measured | asked |", "|---|---|---|"]
    for name, found in record["frames"].items():
        shown = f"{found['frames_a_second']:.1f}"
        missed = "" if float(shown) >= FRAMES_A_SECOND else ", missed"
        lines += [
            f"| {name}: frames a second at the page | {shown}{missed} | {FRAMES_A_SECOND} |",
            f"| {name}: cores of the server | {found['cores']:.2f} | at most 1 |",
            f"| {name}: from key to frame, median | {found['latency_ms']:.0f} ms | at most 50 ms |",
        ]
    early, late = many["memory_early_mb"], many["memory_late_mb"]
    lines += [
        f"| first page | {start['page_bytes'] / 1000:.0f} KB | at most 200 KB |",
        f"| from start to page | {start['page_s']:.2f} s, {start['page_cpu_s']:.2f} s of a core "
        "| at most 1 s |",
        f"| to the first move of an agent | {record['first_move_s']:.2f} s | at most 3 s |",
        f"| {many['sessions']:.0f} sessions for {many['seconds']:.0f} s, one killed | "
        f"{many['went_on']:.0f} others go on | {many['sessions'] - 1:.0f} |",
        f"| their memory after a quarter, and at the end | {early:.0f} MB, {late:.0f} MB | flat |",
    ]
    return "\n".join(lines)


def counts() -> str:
    """Return the largest counts that the code takes as a Markdown table."""
    players = max(n for n in range(2, 17) if _is_taken("SkullKingFlat-v0", num_players=n))
    rows = (
        ("`num_threads`", f"{MAX_THREADS}, and at most one a lane"),
        ("seed of the last lane: `seed + num_envs - 1`", f"{2**64 - 1:,}"),
        ("agents of a row, in these games", f"{max(game.spec.num_agents for _, game in games())}"),
        ("players of Skull King", f"{players}"),
        ("rounds of Skull King, cards of a hand", f"{MAX_ROUNDS}, {MAX_CARDS}"),
        ("nodes of a belt in Prospector, asteroids of a node", f"{MAX_NODES}, {MAX_ASTEROIDS}"),
        ("ROM of a cartridge", f"{_MOST_ROM // 2**20} MiB"),
        ("RAM of a cartridge", f"{max(RAM_SIZES.values()) // 1024} KiB"),
        ("frames of a step, Game Boy", f"{MAX_FRAMES:,}; with `audio=True` {MAX_AUDIO_FRAMES}"),
        ("frames of an observation (`stack_k`)", f"{MAX_STACK}"),
        ("actions, Game Boy", f"{MAX_CHORDS}: every set of the eight buttons"),
        ("reward terms of a RAM map", f"{MAX_REWARDS}"),
        ("numbers of a RAM map", f"{MAX_REWARDS}"),
        ("hooks and writes of a RAM map", f"{MAX_HOOKS} and {MAX_WRITES}"),
        (
            "keys of a set of a RAM map",
            f"{MAX_CAPACITY:,}; all sets of a lane {MAX_MEMORY >> 20} MiB",
        ),
        ("events of a RAM map", f"{8 * MAX_EVENT_BYTES:,}"),
        ("characters of an expression", f"{MAX_LENGTH:,}"),
    )
    return "\n".join(["| what | at most |", "|---|---|", *(f"| {a} | {b} |" for a, b in rows)])


def lanes() -> str:
    """Return the bytes of a lane of every id as a Markdown table."""
    lines = ["| id | state, bytes | observation, bytes | 4,096 lanes |", "|---|---|---|---|"]
    for name, game in games():
        spec = game.spec
        state = spec.state_dtype.itemsize
        obs = spec.num_agents * spec.obs_dtype.itemsize * math.prod(spec.obs_shape)
        whole = 4096 * (state + obs) / 2**20
        lines.append(f"| `{name}` | {state:,} | {obs:,} | {whole:,.0f} MiB |")
    return "\n".join(lines)


def games() -> list[tuple[str, Game]]:
    """Return every id with its game by default."""
    return [(short_id(name), fastenv.make_game(name)) for name in fastenv.list_envs()]


def _is_taken(env_id: str, **options: int) -> bool:
    try:
        fastenv.make_game(env_id, **options)
    except fastenv.ConfigError:
        return False
    return True


def tables() -> dict[str, dict[str, str]]:
    """Return page -> mark -> table."""
    skullking = {f"layout_table({tier.name})": layout_table(tier) for tier in Tier}
    drmario = {"drmario_planes": drmario_planes(), "drmario_aux": drmario_aux()}
    return {
        "skullking.md": skullking,
        "prospector.md": {"layout_table": prospector_table()},
        "drmario.md": drmario,
        "gameboy.md": {"grammar": grammar()},
        "howto/training.md": {"configs": configs()},
        "explanation/limits.md": {"counts": counts(), "lanes": lanes()},
        "reference/studio.md": {"messages": studio_messages(), "bars": studio_bars()},
    }


def with_tables(name: str) -> str:
    """Return a page with its tables between their marks."""
    text = (FOLDER / name).read_text(encoding="utf-8")
    for mark, table in tables()[name].items():
        begin, end = f"<!-- {mark} begin -->", f"<!-- {mark} end -->"
        pattern = re.escape(begin) + ".*?" + re.escape(end)
        block = f"{begin}\n{table}\n{end}"
        text, count = re.subn(pattern, lambda _, block=block: block, text, flags=re.DOTALL)
        if count != 1:
            raise SystemExit(f"{name} must have one pair of marks {begin} and {end}")
    return text


if __name__ == "__main__":
    for page in tables():
        (FOLDER / page).write_text(with_tables(page), encoding="utf-8")
