"""Write the RAM maps of Pokemon Red, Blue and Yellow from the symbols of their disassemblies.

``python -m tools.gameboy.pokemon_maps RED.sym BLUE.sym YELLOW.sym EVENTS.asm YELLOW_EVENTS.asm``
takes files of pret/pokered and pret/pokeyellow: ``.sym`` of their branches ``symbols`` and their
lists of event constants. It writes ``pokemon_red.json``, ``pokemon_red_hooks.json`` and
``pokemon_yellow.json`` into ``fastenv/gameboy/data/maps/``; with ``--check`` it writes nothing, and
the exit status is 1 where a file differs. What is read here are addresses and numbers alone.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tools.command import new_parser

COMMAND = "gameboy.pokemon_maps"
MAPS = Path(__file__).parents[2] / "fastenv" / "gameboy" / "data" / "maps"
Json = dict[str, Any]

# ROMs by the SHA-1 that roms.sha1 of the disassemblies has.
RED = {
    "Red": "ea9bcae617fdf159b045185467ae58b2e4a48b9a",
    "Blue": "d7037c83e1ae5b39bde3c30787637ba1d4c48ce2",
}
YELLOW = {"Yellow": "cc7d03262ebfaf2f06772c1a480c7d9d5f4a38e1"}

PARTY, ENEMY = {"count": 6, "stride": 44}, {"count": 6, "stride": 44}
BIT = {"type": "bit"}
HIDDEN = {"info": False}
STAT = {"type": ">u2", "range": [0, 714]}

# Name -> label, bytes behind it, and what a field says beside its address.
FIELDS: dict[str, tuple[str, int, Json]] = {
    # where the player is
    "map_id": ("wCurMap", 0, {"type": "u1", "range": [0, 248]}),
    "map_x": ("wXCoord", 0, {"type": "u1"}),
    "map_y": ("wYCoord", 0, {"type": "u1"}),
    "map_width": ("wCurMapWidth", 0, {"type": "u1"}),
    "map_height": ("wCurMapHeight", 0, {"type": "u1"}),
    "last_map": ("wLastMap", 0, {"type": "u1", "range": [0, 248]}),
    "blackout_map": ("wLastBlackoutMap", 0, {"type": "u1", "range": [0, 248]}),
    "tileset": ("wCurMapTileset", 0, {"type": "u1", "mask": 127, "range": [0, 24]}),
    "direction": ("wSpritePlayerStateData1FacingDirection", 0, {"type": "u1", "range": [0, 12]}),
    "walk_bike_surf": ("wWalkBikeSurfState", 0, {"type": "u1", "range": [0, 2]}),
    "tile_in_front": ("wTileInFrontOfPlayer", 0, {"type": "u1"}),
    "towns_visited": ("wTownVisitedFlag", 0, {**BIT, "count": 11}),
    # the party
    "party_count": ("wPartyCount", 0, {"type": "u1", "range": [0, 6]}),
    "party_species": ("wPartySpecies", 0, {"type": "u1", "count": 6}),
    "party_hp": ("wPartyMon1HP", 0, {**STAT, **PARTY}),
    "party_max_hp": ("wPartyMon1MaxHP", 0, {**STAT, **PARTY}),
    "party_level": ("wPartyMon1Level", 0, {"type": "u1", **PARTY, "range": [0, 100]}),
    "party_status": ("wPartyMon1Status", 0, {"type": "u1", **PARTY}),
    "party_type1": ("wPartyMon1Type1", 0, {"type": "u1", **PARTY, "range": [0, 26]}),
    "party_type2": ("wPartyMon1Type2", 0, {"type": "u1", **PARTY, "range": [0, 26]}),
    "party_attack": ("wPartyMon1Attack", 0, {**STAT, **PARTY}),
    "party_defense": ("wPartyMon1Defense", 0, {**STAT, **PARTY}),
    "party_speed": ("wPartyMon1Speed", 0, {**STAT, **PARTY}),
    "party_special": ("wPartyMon1Special", 0, {**STAT, **PARTY}),
    "party_exp": ("wPartyMon1Exp", 0, {"type": ">u3", **PARTY}),
    **{
        f"party_move{k + 1}": ("wPartyMon1Moves", k, {"type": "u1", **PARTY, "range": [0, 165]})
        for k in range(4)
    },
    **{
        f"party_pp{k + 1}": (
            "wPartyMon1PP",
            k,
            {"type": "u1", "mask": 63, **PARTY, "range": [0, 63]},
        )
        for k in range(4)
    },
    "box_count": ("wBoxCount", 0, {"type": "u1", "range": [0, 20]}),
    # what the player has
    "bag_count": ("wNumBagItems", 0, {"type": "u1", "range": [0, 20]}),
    "bag_items": ("wBagItems", 0, {"type": "u1", "count": 20, "stride": 2}),
    "bag_quantities": ("wBagItems", 1, {"type": "u1", "count": 20, "stride": 2, "range": [0, 99]}),
    "money": ("wPlayerMoney", 0, {"type": ">d3"}),
    "coins": ("wPlayerCoins", 0, {"type": ">d2"}),
    "badges": ("wObtainedBadges", 0, {**BIT, "count": 8}),
    "pokedex_owned": ("wPokedexOwned", 0, {**BIT, "count": 151}),
    "pokedex_seen": ("wPokedexSeen", 0, {**BIT, "count": 151}),
    "starter": ("wPlayerStarter", 0, {"type": "u1"}),
    "rival_starter": ("wRivalStarter", 0, {"type": "u1"}),
    "hall_of_fame": ("wNumHoFTeams", 0, {"type": "u1"}),
    "play_hours": ("wPlayTimeHours", 0, {"type": "u1"}),
    # options of the game
    "text_delay": ("wOptions", 0, {"type": "u1", "mask": 7, "range": [0, 7]}),
    "battle_style": ("wOptions", 0, {**BIT, "bit": 6}),
    "battle_animation": ("wOptions", 0, {**BIT, "bit": 7}),
    # battles
    "battle": ("wIsInBattle", 0, {"type": "i1", "range": [-1, 2]}),
    "battle_type": ("wBattleType", 0, {"type": "u1", "range": [0, 2]}),
    "opponent": ("wCurOpponent", 0, {"type": "u1"}),
    "enemy_species": ("wEnemyMonSpecies", 0, {"type": "u1"}),
    "enemy_level": ("wEnemyMonLevel", 0, {"type": "u1", "range": [0, 100]}),
    "enemy_hp": ("wEnemyMonHP", 0, STAT),
    "enemy_max_hp": ("wEnemyMonMaxHP", 0, STAT),
    "enemy_count": ("wEnemyPartyCount", 0, {"type": "u1", "range": [0, 6]}),
    "enemy_party_level": ("wEnemyMon1Level", 0, {"type": "u1", **ENEMY, "range": [0, 100]}),
    "own_species": ("wBattleMonSpecies", 0, {"type": "u1"}),
    "own_hp": ("wBattleMonHP", 0, STAT),
    "own_max_hp": ("wBattleMonMaxHP", 0, STAT),
    # menus, texts and scripts
    "random_add": ("hRandomAdd", 0, {"type": "u1", **HIDDEN}),
    "random_sub": ("hRandomSub", 0, {"type": "u1", **HIDDEN}),
    "menu_item": ("wCurrentMenuItem", 0, {"type": "u1"}),
    "menu_last_item": ("wMaxMenuItem", 0, {"type": "u1"}),
    "font_loaded": ("wFontLoaded", 0, {**BIT, "bit": 0}),
    "joy_ignore": ("wJoyIgnore", 0, {"type": "u1"}),
    "text_id": ("hTextID", 0, {"type": "u1"}),
    "hidden_event": ("wHiddenEventIndex", 0, {"type": "u1"}),
    "warp_map": ("hWarpDestinationMap", 0, {"type": "u1"}),
    "warp_id": ("wDestinationWarpID", 0, {"type": "u1"}),
    # flags
    "events": ("wEventFlags", 0, {**BIT, "count": 2560, **HIDDEN}),
    "objects_gone": ("wToggleableObjectFlags", 0, {**BIT, "count": 256, **HIDDEN}),
    "strength_active": ("wStatusFlags1", 0, {**BIT, "bit": 0}),
    "guards_thirst_quenched": ("wStatusFlags1", 0, {**BIT, "bit": 6}),
    "got_lapras": ("wStatusFlags4", 0, {**BIT, "bit": 0}),
    "ship_script": ("wSSAnne2FCurScript", 0, {"type": "u1"}),
    "safari_steps": ("wSafariSteps", 0, {"type": ">u2", "range": [0, 502]}),
    "repel_steps": ("wRepelRemainingSteps", 0, {"type": "u1"}),
    "dark": ("wMapPalOffset", 0, {"type": "u1", "range": [0, 6]}),
}
YELLOW_FIELDS: dict[str, tuple[str, int, Json]] = {
    "pikachu_happiness": ("wPikachuHappiness", 0, {"type": "u1"}),
    "pikachu_mood": ("wPikachuMood", 0, {"type": "u1"}),
}

# Milestones among the events, by the constants of the disassembly.
MILESTONES = {
    "followed_oak": "EVENT_FOLLOWED_OAK_INTO_LAB",
    "got_starter": "EVENT_GOT_STARTER",
    "beat_rival_in_lab": "EVENT_BATTLED_RIVAL_IN_OAKS_LAB",
    "got_parcel": "EVENT_GOT_OAKS_PARCEL",
    "delivered_parcel": "EVENT_OAK_GOT_PARCEL",
    "got_pokedex": "EVENT_GOT_POKEDEX",
    "museum_ticket": "EVENT_BOUGHT_MUSEUM_TICKET",
    "beat_brock": "EVENT_BEAT_BROCK",
    "passed_mt_moon": "EVENT_BEAT_MT_MOON_EXIT_SUPER_NERD",
    "beat_cerulean_rival": "EVENT_BEAT_CERULEAN_RIVAL",
    "beat_misty": "EVENT_BEAT_MISTY",
    "met_bill": "EVENT_MET_BILL",
    "used_cell_separator": "EVENT_USED_CELL_SEPARATOR_ON_BILL",
    "got_ship_ticket": "EVENT_GOT_SS_TICKET",
    "helped_captain": "EVENT_RUBBED_CAPTAINS_BACK",
    "got_hm_cut": "EVENT_GOT_HM01",
    "beat_surge": "EVENT_BEAT_LT_SURGE",
    "got_bicycle": "EVENT_GOT_BICYCLE",
    "got_hm_flash": "EVENT_GOT_HM05",
    "got_hm_fly": "EVENT_GOT_HM02",
    "beat_erika": "EVENT_BEAT_ERIKA",
    "found_hideout": "EVENT_FOUND_ROCKET_HIDEOUT",
    "got_lift_key": "EVENT_ROCKET_DROPPED_LIFT_KEY",
    "beat_hideout_giovanni": "EVENT_BEAT_ROCKET_HIDEOUT_GIOVANNI",
    "beat_tower_ghost": "EVENT_BEAT_GHOST_MAROWAK",
    "rescued_fuji": "EVENT_RESCUED_MR_FUJI",
    "got_flute": "EVENT_GOT_POKE_FLUTE",
    "beat_silph_giovanni": "EVENT_BEAT_SILPH_CO_GIOVANNI",
    "beat_koga": "EVENT_BEAT_KOGA",
    "got_hm_surf": "EVENT_GOT_HM03",
    "gave_gold_teeth": "EVENT_GAVE_GOLD_TEETH",
    "got_hm_strength": "EVENT_GOT_HM04",
    "beat_sabrina": "EVENT_BEAT_SABRINA",
    "beat_blaine": "EVENT_BEAT_BLAINE",
    "beat_giovanni": "EVENT_BEAT_VIRIDIAN_GYM_GIOVANNI",
    "beat_lorelei": "EVENT_BEAT_LORELEIS_ROOM_TRAINER_0",
    "beat_bruno": "EVENT_BEAT_BRUNOS_ROOM_TRAINER_0",
    "beat_agatha": "EVENT_BEAT_AGATHAS_ROOM_TRAINER_0",
    "beat_lance": "EVENT_BEAT_LANCE",
    "beat_champion": "EVENT_BEAT_CHAMPION_RIVAL",
}
IN_LINES = ("fields", "sets", "numbers", "rewards", "hooks", "writes")  # of a file, an entry each
# Where an overworld looks.
MEMORY = {
    "map": "wCurMap",
    "x": "wXCoord",
    "y": "wYCoord",
    "facing": "wSpritePlayerStateData1FacingDirection",
    "dialogue": "wFontLoaded",
    "items": "wNumBagItems",
}
SIZE = [248, 256, 256]  # more maps there are not; the largest is smaller
HMS = {"cut": 15, "fly": 19, "surf": 57, "strength": 70, "flash": 148}  # numbers of moves

MOVES = [f"party_move{k}" for k in (1, 2, 3, 4)]
CONSTANTS = {"slots": [*range(6)], "bag_slots": [*range(20)]}
SETS: dict[str, Json] = {
    "cells": {"key": ["map_id", "map_x", "map_y"], "capacity": 8192, "when": "battle == 0"},
}


def taught(move: int) -> str:
    """Return the expression that is 1 while a member of the party knows a move."""
    known = " or ".join(f"{name} == {move}" for name in MOVES)
    return f"(count({known}) > 0)"


NUMBERS: dict[str, Any] = {
    "explored": {"value": "size(cells)", "range": [0, 8192]},
    "story": {"value": "sum(events) - museum_ticket", "range": [0, 500]},
    "levels": {"value": "sum(party_level * (slots < party_count))", "range": [0, 600]},
    "level_curve": {
        "value": "min(levels, 22) + max(levels - 22, 0) // 4",
        "info": False,
        "range": [0, 166],
    },
    "health": {
        "value": "1000 * sum(party_hp * (slots < party_count)) // "
        "max(sum(party_max_hp * (slots < party_count)), 1)",
        "range": [0, 1000],
    },
    "hms_taught": {"value": " + ".join(map(taught, HMS.values())), "range": [0, 5]},
    "hms_owned": {
        "value": "count(bag_items >= 196 and bag_items <= 200 and bag_slots < bag_count)",
        "range": [0, 5],
    },
    "opponent_level": {"value": "max_so_far(max(enemy_party_level))", "range": [0, 100]},
    "faints": {
        "value": "sum_so_far(previous(health) == 0 and health > 0)",
        "range": [0, 100],
    },
}
REWARDS: dict[str, Json] = {
    "explore": {"value": "first_time(cells)", "weight": 0.02},
    "story": {"value": "delta(max_so_far(story))", "weight": 1},
    "badges": {"value": "delta(max_so_far(sum(badges)))", "weight": 5},
    "levels": {"value": "delta(max_so_far(level_curve))", "weight": 0.5},
    "healing": {
        "value": "(delta(party_count) == 0) * (previous(health) > 0) * max(delta(health), 0)",
        "weight": 0.001,
    },
    "seen": {"value": "delta(max_so_far(sum(pokedex_seen)))", "weight": 0.5},
    "owned": {"value": "delta(max_so_far(sum(pokedex_owned)))", "weight": 0.5},
    "hms": {"value": "delta(max_so_far(hms_taught))", "weight": 2},
    "opponents": {"value": "delta(opponent_level)", "weight": 0.2},
}
ENDS = {"terminated": "beat_champion"}

WRITES: dict[str, Json] = {
    "no_encounters": {"set": "repel_steps", "to": 255, "on": "step"},
    "money": {"set": "money", "to": 10_000, "on": "step", "when": "money < 10000"},
    "light": {"set": "dark", "to": 0, "on": "step", "when": "dark == 6"},
    "safari": {"set": "safari_steps", "to": 255, "on": "step", "when": "safari_steps > 0"},
    "cut": {
        "set": "party_move1[0]",
        "to": 15,
        "on": "step",
        "when": "got_hm_cut and party_count > 0",
    },
    "hp": {"set": "party_hp", "to": 128, "on": "step"},
    "max_hp": {"set": "party_max_hp", "to": 128, "on": "step"},
    "luck_add": {"set": "random_add", "to": "random(256)", "on": "reset"},
    "luck_sub": {"set": "random_sub", "to": "random(256)", "on": "reset"},
}

# -- what happens at an instruction: Red and Blue alone, whose labels Yellow has not all -----------

# Name -> label, bytes behind it, and what is done: once in an episode, or counted.
HOOKS: dict[str, tuple[str, int, str]] = {
    "opened_menu": ("DisplayStartMenu", 0, "latch"),
    "opened_bag": ("StartMenu_Item", 0, "latch"),
    "opened_party": ("StartMenu_Pokemon", 0, "latch"),
    "looked_at_stats": ("StartMenu_Pokemon.choseStats", 0, "latch"),
    "chose_item": ("StartMenu_Item.choseItem", 0, "latch"),
    "healed": ("AnimateHealingMachine", 0, "latch"),
    "blackouts": ("HandleBlackOut", 0, "count"),
    "balls_thrown": ("ItemUseBall.loop", 0, "count"),
    "talked": ("DisplayTextID.spriteHandling", 0, "count"),
    "read_signs": ("IsSpriteOrSignInFrontOfPlayer.retry", -1, "count"),
    "found_hidden": ("CheckForHiddenEvent.foundMatchingEvent", 0, "count"),
    "pressed_a": ("CheckForHiddenEventOrBookshelfOrCardKeyDoor", 0, "count"),
    "warped": ("CheckWarpsNoCollisionLoop", 0, "count"),
    "cut_done": ("UsedCut.canCut", 0, "count"),
    "cut_in_vain": ("UsedCut.nothingToCut", 0, "count"),
    "flute_played": ("PlayedFluteHadEffectText.done", 0, "count"),
    "flute_in_vain": ("ItemUsePokeFlute.noSnorlaxToWakeUp", 0, "count"),
    "surf_in_vain": ("SurfingAttemptFailed", 0, "count"),
}
IN_FRONT = [
    "map_id",
    "map_x + (direction == 12) - (direction == 8)",
    "map_y + (direction == 0) - (direction == 4)",
]
SURFED = "walk_bike_surf == 2 and previous(walk_bike_surf) != 2"
HOOK_SETS: dict[str, Json] = {
    "people": {"key": ["map_id", "text_id"], "capacity": 1024, "when": "delta(talked)"},
    "signs": {"key": ["map_id", "text_id"], "capacity": 256, "when": "delta(read_signs)"},
    "hidden": {"key": ["map_id", "hidden_event"], "capacity": 256, "when": "delta(found_hidden)"},
    "warps": {
        "key": ["map_id", "warp_map", "warp_id"],
        "capacity": 1024,
        "when": "delta(warped) and warp_id != 255",
    },
    "faced": {"key": IN_FRONT, "capacity": 2048, "when": "delta(pressed_a)"},
    "cuts": {"key": IN_FRONT, "capacity": 128, "when": "delta(cut_done)"},
    "vain_cuts": {"key": IN_FRONT, "capacity": 512, "when": "delta(cut_in_vain)"},
    "cut_tiles": {
        "key": ["tile_in_front"],
        "capacity": 64,
        "when": "delta(cut_done + cut_in_vain)",
    },
    "flutes": {"key": IN_FRONT, "capacity": 16, "when": "delta(flute_played)"},
    "vain_flutes": {"key": IN_FRONT, "capacity": 512, "when": "delta(flute_in_vain)"},
    "flute_tiles": {
        "key": ["tile_in_front"],
        "capacity": 64,
        "when": "delta(flute_played + flute_in_vain)",
    },
    "surfs": {"key": IN_FRONT, "capacity": 512, "when": SURFED},
    "vain_surfs": {"key": IN_FRONT, "capacity": 512, "when": "delta(surf_in_vain)"},
    "surf_tiles": {
        "key": ["tile_in_front"],
        "capacity": 64,
        "when": f"delta(surf_in_vain) or ({SURFED})",
    },
    "maps": {"key": ["map_id"], "capacity": 256},
    # A step looks at one of the 24 moves of the party.
    "moves": {
        "key": [
            "+".join(f"(sum_so_far(1)%24=={k})*party_move{k % 4 + 1}[{k // 4}]" for k in range(24))
        ],
        "capacity": 256,
    },
}
HOOK_REWARDS: dict[str, Json] = {
    "people": {"value": "first_time(people)", "weight": 0.02},
    "signs": {"value": "first_time(signs)", "weight": 0.015},
    "hidden": {"value": "first_time(hidden)", "weight": 0.02},
    "warps": {"value": "first_time(warps)", "weight": 0.01},
    "cuts": {"value": "first_time(cuts)", "weight": 1},
    "healed": {"value": "delta(healed)", "weight": 0.5},
    "menus": {
        "value": "delta(opened_menu + opened_bag + opened_party + looked_at_stats + chose_item)",
        "weight": 0.1,
    },
}


def read_symbols(path: Path) -> dict[str, str]:
    """Read a ``.sym`` file: bank and address by label."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        match = re.fullmatch(r"([0-9a-f]{2,3}:[0-9a-f]{4}) (\S+)", line.strip())
        if match:
            found[match[2]] = match[1]
    return found


def read_constants(path: Path) -> dict[str, int]:
    """Read the numbers of the events from the constants of a disassembly."""
    found, number = {}, 0
    for line in path.read_text(encoding="utf-8").splitlines():
        match line.split(";")[0].split():
            case ["const_def"]:
                number = 0
            case ["const_skip", *more]:
                number += _value(" ".join(more) or "1")
            case ["const_next", *more]:
                number = _value(" ".join(more))
            case ["const", name]:
                found[name], number = number, number + 1
    return found


def _value(text: str) -> int:
    """Return a number, or the difference of two."""
    first, *others = (int(part.strip().replace("$", "0x"), 0) for part in text.split("-"))
    return first - sum(others)


def make_map(about: str, roms: dict[str, str], symbols: dict[str, str], events: dict[str, int],
             more: dict[str, tuple[str, int, Json]]) -> Json:  # fmt: skip
    """Make the value of a RAM map's file."""
    fields: Json = {}
    for name, (label, behind, entry) in {**FIELDS, **more}.items():
        address = int(symbols[label].split(":")[1], 16) + behind
        shown = label + (f"+{behind}" if behind else "")
        fields[name] = {"address": f"${address:04X}", **entry, "label": shown}
    names = {name: events[constant] for name, constant in MILESTONES.items()}
    fields["events"]["names"] = names
    memory = {name: f"${symbols[label].split(':')[1].upper()}" for name, label in MEMORY.items()}
    flags = {"address": fields["events"]["address"], "bits": 2560}
    return {
        "about": about,
        "roms": roms,
        "fields": fields,
        "constants": CONSTANTS,
        "sets": SETS,
        "numbers": NUMBERS,
        "rewards": REWARDS,
        "ends": ENDS,
        "writes": WRITES,
        "memory": memory,
        "events": {**flags, "rewarded": sorted(names.values())},
        "size": SIZE,
    }


def make_hooks(about: str, symbols: dict[str, str]) -> Json:
    """Make the value of the file that adds hooks to a map."""
    hooks = {}
    for name, (label, behind, do) in HOOKS.items():
        bank, address = symbols[label].split(":")
        hooks[name] = {"at": f"{bank.upper()}:{int(address, 16) + behind:04X}", "do": do}
    return {
        "about": about,
        "extends": "pokemon_red",
        "hooks": hooks,
        "sets": HOOK_SETS,
        "rewards": HOOK_REWARDS,
    }


def written(value: Json) -> str:
    """Return the text of a file: an entry a line, two levels deep."""
    lines = []
    for key, part in value.items():
        if isinstance(part, dict) and key in (
            "fields",
            "sets",
            "numbers",
            "rewards",
            "hooks",
            "writes",
        ):
            inner = ",\n".join(f"  {json.dumps(k)}: {json.dumps(v)}" for k, v in part.items())
            lines.append(f" {json.dumps(key)}: {{\n{inner}\n }}")
        else:
            lines.append(f" {json.dumps(key)}: {json.dumps(part)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the maps, or compare them."""
    parser = new_parser(COMMAND, __doc__)
    for name in ("red", "blue", "yellow"):
        parser.add_argument(name, type=Path, help=f".sym file of {name}")
    parser.add_argument("events", type=Path, help="event_constants.asm of pret/pokered")
    parser.add_argument("yellow_events", type=Path, help="that of pret/pokeyellow")
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    args = parser.parse_args(arguments)
    red, blue, yellow = (read_symbols(path) for path in (args.red, args.blue, args.yellow))
    labels = {label for label, _, _ in FIELDS.values()}
    if differing := sorted(label for label in labels if red[label] != blue[label]):
        parser.error(f"Red and Blue differ in {', '.join(differing)}")
    about = (
        "{}: addresses by their labels in the disassembly {}; the ROM is not here "
        "(docs/howto/train_pokemon.md)"
    )
    values = {
        "pokemon_red": make_map(
            about.format("Pokemon Red and Blue", "pret/pokered"),
            RED,
            red,
            read_constants(args.events),
            {},
        ),
        "pokemon_yellow": make_map(
            about.format("Pokemon Yellow", "pret/pokeyellow"),
            YELLOW,
            yellow,
            read_constants(args.yellow_events),
            YELLOW_FIELDS,
        ),
    }
    shown = ", ".join(label for label, _, _ in HOOKS.values())
    values["pokemon_red_hooks"] = make_hooks(
        f"Pokemon Red and Blue, with hooks at {shown} of pret/pokered", red
    )
    status = 0
    for name, value in values.items():
        path, text = MAPS / f"{name}.json", written(value)
        if not args.check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"{path}: differs")
            status = 1
        print(f"{path.name}: {len(value.get('fields', HOOKS))} fields or hooks")
    return status


if __name__ == "__main__":
    sys.exit(main())
