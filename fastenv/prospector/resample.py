"""What the ship cannot know, drawn anew (docs/prospector.md, 24).

All that follows is drawn from the game's own generator, which starts anew from one number of the
engine's. What instruments have shown is in the row as estimates; a world is drawn from what is
known of them, never from the truth behind them.
"""

from __future__ import annotations

import math

from fastenv.prospector.arithmetic import clamp, f32, norm6
from fastenv.prospector.reference import Prospector
from fastenv.prospector.tables import (
    NUM_COMMODITIES,
    PRICE_BASE,
    SCANS,
    TWO_PI,
    Action,
    Scan,
)
from fastenv.prospector.world import EMPTY, ESTIMATE, FIRST_CONFIDENCE
from fastenv.rng import Rng

TRIES = 100  # of a rejection; the last one stays
SWEEPS = 2  # over the nodes that threats were heard of
EDGE_VARIANCE = 0.05 * 0.05  # of a threat, where the ends are known
HEARD_VARIANCE = 0.08 * 0.08
HEARD_SHARE = 0.75  # of an estimate
SHARE_VARIANCE = 5.0 / 252.0  # of a commodity in an asteroid, before anything is known
STABILITY_VARIANCE = 0.04
GRAIN = 0.15  # of the logarithm of richness, as mining shows it


def resample(game: Prospector, rng: Rng) -> None:
    """Draw a world that the ship cannot tell from the one it is in; one draw of ``rng``."""
    game.rng.state = rng.next()
    draw_threats(game)
    for node in range(1, game.node_count):
        draw_asteroids(game, node)
    for c in range(NUM_COMMODITIES):
        draw_cycle(game, c)


# -- threats -----------------------------------------------------------------------------------


def draw_threats(game: Prospector) -> None:
    """Draw hazards and pirates of the nodes, and the threats of the edges between them."""
    field = range(1, game.node_count)
    for node in field:
        game.draw_dangers(node)
    for _ in range(SWEEPS):
        for node in field:
            if any(count for _, _, count in heard_around(game, node)):
                redraw_dangers(game, node)
    for node in range(game.node_count):
        for slot, there in enumerate(game.neighbor[node].tolist()):
            if there > node:
                draw_threat(game, node, slot)
    for node in field:  # each asteroid that broke has added its part since
        for depletion in game.depletion[node].tolist():
            if depletion >= 1.0:
                hazard = game.node_hazard.item(node)
                game.node_hazard[node] = clamp(hazard + 0.1, 0.0, 1.0)


def heard_on(game: Prospector, node: int, slot: int) -> tuple[float, int]:
    """Return the mean threat that was heard of an edge, and at how many of its ends."""
    there = game.neighbor.item(node, slot)
    back = game.neighbor[there].tolist().index(node)
    total, count = 0.0, 0
    for estimate in (game.edge_threat_est.item(node, slot), game.edge_threat_est.item(there, back)):
        if estimate != ESTIMATE:
            total += (estimate - (1.0 - HEARD_SHARE) * ESTIMATE) / HEARD_SHARE
            count += 1
    return (total / count if count else 0.0), count


def heard_around(game: Prospector, node: int) -> list[tuple[int, float, int]]:
    """Return the neighbours of a node, and what was heard of the edges there."""
    there = game.neighbor[node].tolist()
    return [
        (other, *heard_on(game, node, slot)) for slot, other in enumerate(there) if other != EMPTY
    ]


def expected_threat(game: Prospector, u: int, v: int) -> float:
    """Return the threat between two nodes, but for the noise of the edge."""
    hazard = game.node_hazard.item(u) + game.node_hazard.item(v)
    return 0.5 * hazard + 0.5 * (game.node_pirate.item(u) + game.node_pirate.item(v))


def redraw_dangers(game: Prospector, node: int) -> None:
    """Draw hazard and pirates of a node so that they fit what was heard of its edges."""
    around = heard_around(game, node)
    for _ in range(TRIES):
        game.draw_dangers(node)
        miss = 0.0
        for other, heard, count in around:
            if count:
                off = heard - expected_threat(game, node, other)
                miss += off * off / (EDGE_VARIANCE + HEARD_VARIANCE / count)
        if game.rng.uniform() < math.exp(-0.5 * miss):
            return


def draw_threat(game: Prospector, node: int, slot: int) -> None:
    """Draw the threat of an edge from its ends and from what was heard; two draws."""
    there = game.neighbor.item(node, slot)
    back = game.neighbor[there].tolist().index(node)
    threat, gain = expected_threat(game, node, there), 0.0
    heard, count = heard_on(game, node, slot)
    if count:
        gain = EDGE_VARIANCE / (EDGE_VARIANCE + HEARD_VARIANCE / count)
        threat += gain * (heard - threat)
    threat += game.rng.normal(0.0, math.sqrt(EDGE_VARIANCE * (1.0 - gain)))
    game.edge_threat[node, slot] = game.edge_threat[there, back] = clamp(threat, 0.0, 1.0)


# -- asteroids ---------------------------------------------------------------------------------


def draw_asteroids(game: Prospector, node: int) -> None:
    """Draw what is in the asteroids of a node; what the ship has of them stays."""
    estimates = (game.comp_est, game.stability_est, game.scan_conf)
    kept = [array[node].copy() for array in (*estimates, game.true_comp, game.richness)]
    shares, stability, conf, true_comp, richness = kept
    for a in range(game.asteroid_count.item(node)):
        game.draw_asteroid(node, a)
    for a in range(game.asteroid_count.item(node)):
        scans = scans_behind(conf.item(a))
        if scans:
            fit_scans(game, (node, a), scans, shares[a].tolist(), stability.item(a))
        if game.depletion.item(node, a) > 0.0:  # what came aboard was seen
            game.true_comp[node, a] = true_comp[a]
            game.richness[node, a] = blurred(game, richness.item(a))
    for array, shown in zip(estimates, kept, strict=False):
        array[node] = shown


def scans_behind(conf: float) -> list[Scan]:
    """Return scans after which the confidence is what it is, wide and deep ones alone."""
    steps = math.floor(20.0 * (conf - f32(FIRST_CONFIDENCE)) + 0.5)  # 2 a wide one, 9 a deep one
    deep = 2 if steps >= 18 else int(steps >= 9 and steps % 2 == 1)
    wide = max(0, (steps - 9 * deep) // 2)
    return [SCANS[Action.SCAN_WIDE]] * wide + [SCANS[Action.SCAN_DEEP]] * deep


def fit_scans(
    game: Prospector, at: tuple[int, int], scans: list[Scan], shares: list[float], stability: float
) -> None:
    """Move an asteroid just drawn to where the estimates say that the true one is.

    It is scanned as the true one was. What its own estimates are off from those of the true one
    is taken from it, times the gain of the best linear estimate.
    """
    rest, spread = 1.0, 0.0  # of the first estimate in the last one; of noise in it
    for scan in scans:
        left = 1.0 - scan.blend
        unit = scan.blend * ((1.0 - game.scan_conf.item(at) + 0.1) * scan.noise)
        rest = rest * left
        spread = left * left * spread + unit * unit
        game.scan_asteroid(at, scan)
    known, noise = 1.0 - rest, game.noise.item(at)
    error = noise * noise * spread
    gain = known * SHARE_VARIANCE / ((rest * rest + known * known) * SHARE_VARIANCE + error)
    own = zip(game.true_comp[at].tolist(), game.comp_est[at].tolist(), shares, strict=True)
    game.true_comp[at] = norm6([x + gain * (shown - seen) for x, seen, shown in own])
    gain = known * STABILITY_VARIANCE / (known * known * STABILITY_VARIANCE + error)
    moved = game.stability.item(at) + gain * (stability - game.stability_est.item(at))
    game.stability[at] = clamp(moved, 0.0, 1.0)


def blurred(game: Prospector, richness: float) -> float:
    """Return a richness in the same class as another, as far as mining tells; one draw."""
    grade = math.floor(math.log(clamp(richness, 0.2, 4.0)) / GRAIN)
    return clamp(math.exp(GRAIN * (grade + game.rng.uniform())), 0.2, 4.0)


# -- the market --------------------------------------------------------------------------------


def draw_cycle(game: Prospector, c: int) -> None:
    """Draw the price cycle of a commodity so that it fits the price of the last step."""
    base, dt = PRICE_BASE[c], game.ev_dt
    seen = game.price.item(c) - base
    if dt > 0:  # what stock and sales were before they shrank
        seen += 0.04 * (game.station_inventory.item(c) / f32(0.998))
        seen += 0.05 * (game.recent_sales.item(c) / f32(math.exp(-dt / 14.0)))
    sigma = 0.03 * base * math.sqrt(float(max(dt, 1)))
    t, rng = float(game.ticks_elapsed), game.rng
    for _ in range(TRIES):
        game.price_phase[c] = rng.uni(0.0, TWO_PI)
        game.price_period[c] = rng.uni(180.0, 380.0)
        game.price_amp[c] = base * rng.uni(0.10, 0.30)
        angle = TWO_PI * (t / game.price_period.item(c)) + game.price_phase.item(c)
        miss = (seen - game.price_amp.item(c) * math.sin(angle)) / sigma
        if rng.uniform() < math.exp(-0.5 * (miss * miss)):
            return
