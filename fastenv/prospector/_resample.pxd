# Worlds (docs/prospector.md, 24) on one row; the readable twin is resample.py. Same order of draws.
from libc.math cimport exp, floor, log, sin, sqrt
from libc.stdint cimport uint64_t
from libc.string cimport memcpy

from fastenv._rng cimport rng_next
from fastenv.prospector._game cimport *
from fastenv.prospector._pcg cimport *
from fastenv.prospector._state cimport *
from fastenv.prospector._world cimport *

cdef enum:
    TRIES = 100
    SWEEPS = 2

cdef extern from *:
    """
    #define EDGE_VARIANCE (0.05 * 0.05)
    #define HEARD_VARIANCE (0.08 * 0.08)
    #define SHARE_VARIANCE (5.0 / 252.0)
    #define STABILITY_VARIANCE 0.04
    #define GRAIN 0.15
    """
    const double EDGE_VARIANCE, HEARD_VARIANCE, SHARE_VARIANCE, STABILITY_VARIANCE, GRAIN


# -- threats ------------------------------------------------------------------------------------

cdef struct Heard:
    double threat
    int count


cdef inline int slot_of(const State* s, int node, int there) noexcept nogil:
    cdef int slot = 0
    while s.neighbor[node][slot] != there:
        slot += 1
    return slot


cdef inline Heard heard_on(const State* s, int node, int slot) noexcept nogil:
    cdef int there = s.neighbor[node][slot], k
    cdef double estimate[2]
    cdef Heard heard
    estimate[0] = s.edge_threat_est[node][slot]
    estimate[1] = s.edge_threat_est[there][slot_of(s, there, node)]
    heard.threat, heard.count = 0.0, 0
    for k in range(2):
        if estimate[k] != 0.5:
            heard.threat += (estimate[k] - (1.0 - 0.75) * 0.5) / 0.75
            heard.count += 1
    if heard.count:
        heard.threat /= heard.count
    return heard


cdef inline double expected_threat(const State* s, int u, int v) noexcept nogil:
    cdef double hazard = <double>s.node_hazard[u] + <double>s.node_hazard[v]
    return 0.5 * hazard + 0.5 * (<double>s.node_pirate[u] + <double>s.node_pirate[v])


cdef inline void redraw_dangers(State* s, int node) noexcept nogil:
    # If anything was heard of the edges of a node.
    cdef Heard heard[MAX_NEIGHBORS]
    cdef int slot, degree = 0, count = 0
    cdef double miss, off
    for slot in range(MAX_NEIGHBORS):
        if s.neighbor[node][slot] >= 0:
            heard[slot] = heard_on(s, node, slot)
            count += heard[slot].count
            degree += 1
    if count == 0:
        return
    for _ in range(TRIES):
        draw_dangers(s, &s.rng, node)
        miss = 0.0
        for slot in range(degree):
            if heard[slot].count:
                off = heard[slot].threat - expected_threat(s, node, s.neighbor[node][slot])
                miss += off * off / (EDGE_VARIANCE + HEARD_VARIANCE / heard[slot].count)
        if uniform(&s.rng) < exp(-0.5 * miss):
            return


cdef inline void draw_threat(State* s, int node, int slot) noexcept nogil:
    cdef int there = s.neighbor[node][slot]
    cdef double threat = expected_threat(s, node, there), gain = 0.0
    cdef Heard heard = heard_on(s, node, slot)
    if heard.count:
        gain = EDGE_VARIANCE / (EDGE_VARIANCE + HEARD_VARIANCE / heard.count)
        threat += gain * (heard.threat - threat)
    threat += normal(&s.rng, sqrt(EDGE_VARIANCE * (1.0 - gain)))
    s.edge_threat[node][slot] = <float>clamp(threat, 0.0, 1.0)
    s.edge_threat[there][slot_of(s, there, node)] = s.edge_threat[node][slot]


cdef inline void draw_threats(State* s) noexcept nogil:
    cdef int node, slot, a
    for node in range(1, s.node_count):
        draw_dangers(s, &s.rng, node)
    for _ in range(SWEEPS):
        for node in range(1, s.node_count):
            redraw_dangers(s, node)
    for node in range(s.node_count):
        for slot in range(MAX_NEIGHBORS):
            if s.neighbor[node][slot] > node:
                draw_threat(s, node, slot)
    for node in range(1, s.node_count):
        for a in range(MAX_ASTEROIDS):
            if s.depletion[node][a] >= 1.0:
                s.node_hazard[node] = <float>clamp(s.node_hazard[node] + 0.1, 0.0, 1.0)


# -- asteroids ----------------------------------------------------------------------------------

cdef struct Shown:
    # What the ship has of the asteroids of a node, and what of the truth it may use.
    float comp_est[MAX_ASTEROIDS][NUM_COMMODITIES]
    float stability_est[MAX_ASTEROIDS]
    float scan_conf[MAX_ASTEROIDS]
    float true_comp[MAX_ASTEROIDS][NUM_COMMODITIES]
    float richness[MAX_ASTEROIDS]


cdef inline void fit_scans(
    State* s, int node, int a, int wide, int deep, const Shown* shown
) noexcept nogil:
    cdef double rest = 1.0, spread = 0.0, left, unit, known, noise, error, gain
    cdef double x[6]
    cdef const Scan* mode
    cdef int k, c
    for k in range(wide + deep):
        mode = &SCANS[0 if k < wide else 2]
        left = 1.0 - mode.blend
        unit = mode.blend * (((1.0 - <double>s.scan_conf[node][a]) + 0.1) * mode.noise)
        rest = rest * left
        spread = left * left * spread + unit * unit
        scan(s, node, a, mode)
    known, noise = 1.0 - rest, s.noise[node][a]
    error = noise * noise * spread
    gain = known * SHARE_VARIANCE / ((rest * rest + known * known) * SHARE_VARIANCE + error)
    for c in range(6):
        unit = <double>shown.comp_est[a][c] - <double>s.comp_est[node][a][c]
        x[c] = s.true_comp[node][a][c] + gain * unit
    norm6(x)
    for c in range(6):
        s.true_comp[node][a][c] = <float>x[c]
    gain = known * STABILITY_VARIANCE / (known * known * STABILITY_VARIANCE + error)
    unit = <double>shown.stability_est[a] - <double>s.stability_est[node][a]
    s.stability[node][a] = <float>clamp(s.stability[node][a] + gain * unit, 0.0, 1.0)


cdef inline double blurred(State* s, double richness) noexcept nogil:
    cdef double grade = floor(log(clamp(richness, 0.2, 4.0)) / GRAIN)
    return clamp(exp(GRAIN * (grade + uniform(&s.rng))), 0.2, 4.0)


cdef inline void draw_asteroids(State* s, const Tables* tb, int node) noexcept nogil:
    cdef Shown shown
    cdef int a, steps, deep, count = s.asteroid_count[node]
    memcpy(shown.comp_est, s.comp_est[node], sizeof(shown.comp_est))
    memcpy(shown.stability_est, s.stability_est[node], sizeof(shown.stability_est))
    memcpy(shown.scan_conf, s.scan_conf[node], sizeof(shown.scan_conf))
    memcpy(shown.true_comp, s.true_comp[node], sizeof(shown.true_comp))
    memcpy(shown.richness, s.richness[node], sizeof(shown.richness))
    write_asteroids(s, tb, node, s.rng)
    s.rng = s.rng * tb.jump_mul[count] + tb.jump_add[count]
    for a in range(count):
        steps = <int>floor(20.0 * (shown.scan_conf[a] - <double><float>0.10) + 0.5)
        if steps >= 2:
            deep = 2 if steps >= 18 else steps >= 9 and steps & 1
            fit_scans(s, node, a, (steps - 9 * deep) >> 1, deep, &shown)
        if s.depletion[node][a] > 0.0:
            memcpy(s.true_comp[node][a], shown.true_comp[a], sizeof(shown.true_comp[a]))
            s.richness[node][a] = <float>blurred(s, shown.richness[a])
    memcpy(s.comp_est[node], shown.comp_est, sizeof(shown.comp_est))
    memcpy(s.stability_est[node], shown.stability_est, sizeof(shown.stability_est))
    memcpy(s.scan_conf[node], shown.scan_conf, sizeof(shown.scan_conf))


# -- the market ---------------------------------------------------------------------------------

cdef inline void draw_cycle(State* s, const Tables* tb, int c) noexcept nogil:
    cdef int dt = s.ev_dt
    cdef double base = tb.price_base[c], sigma = tb.price_sigma[dt if dt > 1 else 1][c]
    cdef double t = <double>s.ticks_elapsed, seen = s.price[c] - base, miss, angle
    if dt > 0:
        seen += 0.04 * (<double>s.station_inventory[c] / <double><float>0.998)
        seen += 0.05 * (<double>s.recent_sales[c] / <double>tb.sales_decay[dt])
    for _ in range(TRIES):
        s.price_phase[c] = <float>uni(&s.rng, 0.0, 6.283185307179586)
        s.price_period[c] = <float>uni(&s.rng, 180.0, 380.0)
        s.price_amp[c] = <float>(base * uni(&s.rng, 0.10, 0.30))
        angle = 6.283185307179586 * (t / s.price_period[c]) + s.price_phase[c]
        miss = (seen - s.price_amp[c] * sin(angle)) / sigma
        if uniform(&s.rng) < exp(-0.5 * (miss * miss)):
            return


cdef inline void resample_row(State* s, const Tables* tb, uint64_t* rng) noexcept nogil:
    cdef int node, c
    s.rng = rng_next(rng)
    draw_threats(s)
    for node in range(1, s.node_count):
        draw_asteroids(s, tb, node)
    for c in range(NUM_COMMODITIES):
        draw_cycle(s, tb, c)
