# World generation (docs/prospector.md, 5) on one row; the readable twin is world.py. Same order of
# draws, but asteroids wait until the ship comes: 20 draws each, so the generator can jump over them.
from libc.math cimport exp, sin
from libc.stdint cimport int8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from fastenv.prospector._pcg cimport *
from fastenv.prospector._state cimport *


cdef inline double clamp(double x, double low, double high) noexcept nogil:
    x = x if x > low else low
    return x if x < high else high


cdef extern from "_portable.h":
    int fastenv_lowest_bit(uint64_t bits) noexcept nogil

cdef extern from "_maths.h":
    const unsigned char FASTENV_ORDER[20]
    bint fastenv_noises(
        const uint32_t* first, const uint32_t* second, int n, double slack, float* out
    ) noexcept nogil
    bint fastenv_asteroids(const uint32_t* draws, double slack, float* out) noexcept nogil
    bint fastenv_first_prices(
        const float* phase, const float* amp, const double* base, const double* low,
        const double* high, double slack, float* price,
    ) noexcept nogil


# -- nodes and edges ----------------------------------------------------------------------------

cdef enum:
    MAX_EDGES = 63  # a tree and one more for each node
    BLOCK = 4  # FASTENV_BLOCK


cdef struct Graph:
    uint32_t neighbors[MAX_NODES]  # bit sets
    int degree[MAX_NODES]
    int num_edges
    int8_t node[2][MAX_EDGES]  # the two ends of an edge
    int8_t slot[2][MAX_EDGES]
    uint64_t rng[MAX_EDGES]  # where its four draws begin


cdef inline void add_edge(Graph* g, uint64_t* rng, uint32_t u, uint32_t v) noexcept nogil:
    cdef int e = g.num_edges
    if (g.neighbors[u] >> v) & 1 or g.degree[u] == MAX_NEIGHBORS or g.degree[v] == MAX_NEIGHBORS:
        return
    g.node[0][e], g.node[1][e] = <int8_t>u, <int8_t>v
    g.slot[0][e], g.slot[1][e] = <int8_t>g.degree[u], <int8_t>g.degree[v]
    g.rng[e] = rng[0]
    skip_four(rng)
    g.num_edges += 1
    g.neighbors[u] |= (<uint32_t>1) << v
    g.neighbors[v] |= (<uint32_t>1) << u
    g.degree[u] += 1
    g.degree[v] += 1


cdef inline bint find_noises(
    const uint32_t* first, const uint32_t* second, int n, double slack, float* out
) noexcept nogil:
    # This and the other functions find_*: return whether vector code was enough, else the rule is
    # followed as it is written.
    cdef int e
    if fastenv_noises(first, second, n, slack, out):
        return True
    for e in range(n):
        out[e] = <float>(0.05 * normal_of(first[e], second[e]))
    return False


cdef inline void write_edges(State* s, Graph* g) noexcept nogil:
    # All edges at once: only where they are depends on those before them.
    cdef uint32_t first[MAX_EDGES]
    cdef uint32_t second[MAX_EDGES]
    cdef int8_t time[MAX_EDGES]
    cdef float fuel[MAX_EDGES]
    cdef float noise[MAX_EDGES]
    cdef float hazard, pirate, threat
    cdef int e, end, node, slot
    for e in range(g.num_edges):
        time[e] = below(&g.rng[e], 1, 9)
        fuel[e] = <float>uni(&g.rng[e], 20.0, 160.0 * 0.7)
        first[e] = next_u32(&g.rng[e])
        second[e] = next_u32(&g.rng[e])
    find_noises(first, second, g.num_edges, 1.0, noise)
    for e in range(g.num_edges):
        hazard = <float>0.5 * (s.node_hazard[g.node[0][e]] + s.node_hazard[g.node[1][e]])
        pirate = <float>0.5 * (s.node_pirate[g.node[0][e]] + s.node_pirate[g.node[1][e]])
        threat = <float>clamp((hazard + pirate) + noise[e], 0.0, 1.0)
        for end in range(2):
            node, slot = g.node[end][e], g.slot[end][e]
            s.neighbor[node][slot] = g.node[1 - end][e]
            s.edge_time[node][slot] = time[e]
            s.edge_fuel[node][slot] = fuel[e]
            s.edge_threat[node][slot] = threat


cdef inline void clear_edges(State* s) noexcept nogil:
    cdef int i
    cdef float* estimate = &s.edge_threat_est[0][0]
    memset(s.neighbor, -1, sizeof(s.neighbor))
    memset(s.edge_time, 1, sizeof(s.edge_time))
    memset(s.edge_fuel, 0, sizeof(s.edge_fuel))
    memset(s.edge_threat, 0, sizeof(s.edge_threat))
    for i in range(MAX_NODES * MAX_NEIGHBORS):
        estimate[i] = 0.5


cdef inline void count_hops(State* s, const Graph* g) noexcept nogil:
    # Breadth first from the station, a whole ring of nodes at a time.
    cdef uint32_t ring = 1, seen = 1, reached
    cdef int node, hops = 0
    memset(s.steps_to_station, UNREACHABLE, sizeof(s.steps_to_station))
    while ring:
        reached = 0
        while ring:
            node = fastenv_lowest_bit(ring)
            ring &= ring - 1
            s.steps_to_station[node] = hops
            reached |= g.neighbors[node]
        ring = reached & ~seen
        seen |= ring
        hops += 1


cdef inline void draw_dangers(State* s, uint64_t* rng, int node) noexcept nogil:
    s.node_hazard[node] = <float>uni(rng, 0.05, 0.35)
    s.node_pirate[node] = <float>uni(rng, 0.05, 0.30)
    if s.node_type[node] == HAZARD:
        s.node_hazard[node] = <float>clamp(s.node_hazard[node] + 0.25, 0.0, 1.0)
        s.node_pirate[node] = <float>clamp(s.node_pirate[node] + 0.12, 0.0, 1.0)


cdef inline void generate_graph(State* s, uint64_t* rng) noexcept nogil:
    cdef Graph g
    cdef int node, n = below(rng, 8, 33)
    cdef uint32_t u, v
    memset(g.neighbors, 0, sizeof(g.neighbors))
    memset(g.degree, 0, sizeof(g.degree))
    g.num_edges = 0
    memset(s.node_type, CLUSTER, sizeof(s.node_type))
    memset(s.node_hazard, 0, sizeof(s.node_hazard))
    memset(s.node_pirate, 0, sizeof(s.node_pirate))
    clear_edges(s)
    s.node_count = n
    s.node_type[0] = STATION
    for node in range(1, n):
        if uniform(rng) < 0.25:
            s.node_type[node] = HAZARD
        draw_dangers(s, rng, node)
    for node in range(1, n):
        add_edge(&g, rng, node, below(rng, 0, node))
    for _ in range(n):
        u = below(rng, 0, n)
        v = below(rng, 0, n)
        if u != v:
            add_edge(&g, rng, u, v)
    write_edges(s, &g)
    count_hops(s, &g)


# -- asteroids ----------------------------------------------------------------------------------

cdef inline void postpone_asteroids(State* s, const Tables* tb, uint64_t* rng) noexcept nogil:
    # Remember where each node's asteroids begin in the stream and jump over them.
    cdef int node, count
    memset(s.asteroid_count, 0, sizeof(s.asteroid_count))
    memset(s.asteroid_rng, 0, sizeof(s.asteroid_rng))
    s.pending = <uint32_t>0xFFFFFFFF
    for node in range(1, s.node_count):
        count = below(rng, 5, 17)
        s.asteroid_count[node] = count
        s.asteroid_rng[node] = rng[0]
        rng[0] = rng[0] * tb.jump_mul[count] + tb.jump_add[count]


cdef inline void draw_block(const Tables* tb, uint64_t* rng, uint32_t* draws) noexcept nogil:
    # The draws of four asteroids, each from a generator of its own.
    cdef uint64_t state[BLOCK]
    cdef int i, j
    for j in range(BLOCK):
        state[j] = rng[0]
        rng[0] = rng[0] * tb.jump_mul[1] + tb.jump_add[1]
    for i in range(20):
        for j in range(BLOCK):
            draws[BLOCK * FASTENV_ORDER[i] + j] = next_u32(&state[j])


cdef inline void exact_shares(const uint32_t* draws, float* out) noexcept nogil:
    cdef double share[6]
    cdef double total = 0.0
    cdef int c
    for c in range(6):
        share[c] = exponential_of(draws[BLOCK * c])
        total += share[c]
    for c in range(6):
        out[BLOCK * c] = <float>(share[c] / total)


cdef inline bint find_asteroids(const uint32_t* draws, double slack, float* out) noexcept nogil:
    cdef int i, j
    cdef double a, b, x
    if fastenv_asteroids(draws, slack, out):
        return True
    for j in range(BLOCK):
        exact_shares(draws + j, out + j)
        exact_shares(draws + 6 * BLOCK + j, out + 6 * BLOCK + j)
        a = b = 0.0
        for i in range(12, 15):
            a += exponential_of(draws[BLOCK * i + j])
        for i in range(15, 17):
            b += exponential_of(draws[BLOCK * i + j])
        out[12 * BLOCK + j] = <float>(a / (a + b))
        x = normal_of(draws[17 * BLOCK + j], draws[18 * BLOCK + j])
        out[13 * BLOCK + j] = <float>clamp(exp(-0.2 + 0.65 * x), 0.2, 4.0)
    return False


cdef inline void write_asteroid(
    State* s, int node, int a, const uint32_t* draws, const float* found
) noexcept nogil:
    cdef int c
    for c in range(NUM_COMMODITIES):
        s.true_comp[node][a][c] = found[BLOCK * c]
        s.comp_est[node][a][c] = found[BLOCK * (6 + c)]
    s.stability[node][a] = found[BLOCK * 12]
    s.richness[node][a] = found[BLOCK * 13]
    s.noise[node][a] = <float>(0.04 + (0.22 - 0.04) * unit(draws[BLOCK * 19]))
    s.stability_est[node][a] = 0.5
    s.scan_conf[node][a] = <float>0.10


cdef inline void write_asteroids(
    State* s, const Tables* tb, int node, uint64_t rng
) noexcept nogil:
    # All of a node, from where their draws begin.
    cdef uint32_t draws[20 * BLOCK]
    cdef float found[14 * BLOCK]
    cdef int a, k, first, count = s.asteroid_count[node]
    for k in range((count + BLOCK - 1) // BLOCK):
        first = k * BLOCK
        draw_block(tb, &rng, draws)
        find_asteroids(draws, 1.0, found)
        for a in range(first, min(first + BLOCK, count)):
            write_asteroid(s, node, a, draws + a - first, found + a - first)


cdef inline void generate_asteroids(State* s, const Tables* tb, int node) noexcept nogil:
    # Fill the block of a pending node; what lies there is of an earlier episode.
    memset(s.depletion[node], 0, sizeof(s.depletion[node]))
    memset(s.scan_conf[node], 0, sizeof(s.scan_conf[node]))
    memset(s.stability_est[node], 0, sizeof(s.stability_est[node]))
    memset(s.comp_est[node], 0, sizeof(s.comp_est[node]))
    memset(s.true_comp[node], 0, sizeof(s.true_comp[node]))
    memset(s.richness[node], 0, sizeof(s.richness[node]))
    memset(s.stability[node], 0, sizeof(s.stability[node]))
    memset(s.noise[node], 0, sizeof(s.noise[node]))
    write_asteroids(s, tb, node, s.asteroid_rng[node])
    s.pending &= ~((<uint32_t>1) << node)
    s.asteroid_rng[node] = 0


cdef inline void materialise_row(State* s, const Tables* tb) noexcept nogil:
    cdef int node
    for node in range(MAX_NODES):
        if (s.pending >> node) & 1:
            generate_asteroids(s, tb, node)


# -- the market ---------------------------------------------------------------------------------

cdef inline bint find_first_prices(State* s, const Tables* tb, double slack) noexcept nogil:
    cdef int c
    cdef double price
    if fastenv_first_prices(
        s.price_phase, s.price_amp, tb.price_base, tb.price_min, tb.price_max, slack, s.price
    ):
        return True
    for c in range(NUM_COMMODITIES):
        price = tb.price_base[c] + s.price_amp[c] * sin(s.price_phase[c])
        s.price[c] = <float>clamp(price, tb.price_min[c], tb.price_max[c])
    return False


cdef inline void generate_market(State* s, const Tables* tb, uint64_t* rng) noexcept nogil:
    cdef int c
    for c in range(NUM_COMMODITIES):
        s.station_inventory[c] = <float>uni(rng, 20.0, 120.0)
        s.price_phase[c] = <float>uni(rng, 0.0, 6.283185307179586)
        s.price_period[c] = <float>uni(rng, 180.0, 380.0)
        s.price_amp[c] = <float>(tb.price_base[c] * uni(rng, 0.10, 0.30))
        s.recent_sales[c] = 0
    find_first_prices(s, tb, 1.0)
    memcpy(s.prev_price, s.price, sizeof(s.price))


# -- an episode ---------------------------------------------------------------------------------

cdef inline void reset_row(
    State* s, const Rules* r, const Tables* tb, const uint64_t* seed
) noexcept nogil:
    # Start an episode: from a seed, or (NULL) going on with the row's stream.
    cdef uint64_t rng = s.rng
    if seed != NULL:
        pcg_seed(&rng, seed[0])
    generate_graph(s, &rng)
    postpone_asteroids(s, tb, &rng)
    generate_market(s, tb, &rng)
    s.rng = rng
    s.fuel = 1000.0
    s.hull = s.tool = 100.0
    s.heat = s.alert = 0.0
    s.time_remaining = r.time_max
    s.credits = s.total_spend = s.value_lost = s.util_sum = s.util_count = 0.0
    s.ev_credits = s.ev_cargo_value = s.ev_value_lost = 0.0
    s.ev_fuel, s.ev_hull, s.ev_tool = s.fuel, s.hull, s.tool
    s.ep_return = 0.0
    s.ep_length = s.ticks_elapsed = s.overheat_ticks = 0
    s.pirate_encounters = s.scan_count = s.mining_ticks = 0
    memset(s.cargo, 0, sizeof(s.cargo))
    s.current_node = 0
    s.selected = -1
    s.repair_kits, s.stabilizers, s.decoys = 3, 2, 1
    s.escape_ticks = 0
    memset(s.stabilize_ticks, 0, sizeof(s.stabilize_ticks))
    s.done = 0
    s.ev_action = -1
    s.ev_dt = s.ev_invalid = s.ev_destroyed = s.ev_stranded = 0
