# World generation (spec section 5) on one row; the readable twin is world.py. Same order of draws,
# but asteroids wait until the ship comes: 20 draws each, so the generator can jump over them.
from libc.math cimport exp, sin
from libc.stdint cimport int8_t, uint32_t, uint64_t
from libc.string cimport memset

from fastenv.prospector._pcg cimport *
from fastenv.prospector._state cimport *


cdef inline double clamp(double x, double low, double high) noexcept nogil:
    x = x if x > low else low
    return x if x < high else high


cdef struct Graph:
    # What the edges drawn so far forbid and where the next one goes.
    uint32_t neighbors[MAX_NODES]  # bit sets
    int degree[MAX_NODES]


cdef inline void add_edge(
    State* s, Graph* g, uint64_t* rng, uint32_t u, uint32_t v
) noexcept nogil:
    cdef int i = g.degree[u], j = g.degree[v], time
    cdef float fuel, noise, hazard, pirate, threat
    if (g.neighbors[u] >> v) & 1 or i == MAX_NEIGHBORS or j == MAX_NEIGHBORS:
        return
    time = below(rng, 1, 9)
    fuel = <float>uni(rng, 20.0, 160.0 * 0.7)
    noise = <float>normal(rng, 0.0, 0.05)
    hazard = <float>0.5 * (s.node_hazard[u] + s.node_hazard[v])
    pirate = <float>0.5 * (s.node_pirate[u] + s.node_pirate[v])
    threat = <float>clamp((hazard + pirate) + noise, 0.0, 1.0)
    s.neighbor[u][i], s.neighbor[v][j] = <int8_t>v, <int8_t>u
    s.edge_time[u][i] = s.edge_time[v][j] = time
    s.edge_fuel[u][i] = s.edge_fuel[v][j] = fuel
    s.edge_threat[u][i] = s.edge_threat[v][j] = threat
    g.neighbors[u] |= (<uint32_t>1) << v
    g.neighbors[v] |= (<uint32_t>1) << u
    g.degree[u] += 1
    g.degree[v] += 1


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
        for node in range(s.node_count):
            if (ring >> node) & 1:
                s.steps_to_station[node] = hops
                reached |= g.neighbors[node]
        ring = reached & ~seen
        seen |= ring
        hops += 1


cdef inline void generate_graph(State* s, uint64_t* rng) noexcept nogil:
    cdef Graph g
    cdef int node, n = below(rng, 8, 33)
    cdef uint32_t u, v
    cdef bint dangerous
    memset(&g, 0, sizeof(g))
    memset(s.node_type, CLUSTER, sizeof(s.node_type))
    memset(s.node_hazard, 0, sizeof(s.node_hazard))
    memset(s.node_pirate, 0, sizeof(s.node_pirate))
    clear_edges(s)
    s.node_count = n
    s.node_type[0] = STATION
    for node in range(1, n):
        dangerous = uniform(rng) < 0.25
        s.node_hazard[node] = <float>uni(rng, 0.05, 0.35)
        s.node_pirate[node] = <float>uni(rng, 0.05, 0.30)
        if dangerous:
            s.node_type[node] = HAZARD
            s.node_hazard[node] = <float>clamp(s.node_hazard[node] + 0.25, 0.0, 1.0)
            s.node_pirate[node] = <float>clamp(s.node_pirate[node] + 0.12, 0.0, 1.0)
    for node in range(1, n):
        add_edge(s, &g, rng, node, below(rng, 0, node))
    for _ in range(n):
        u = below(rng, 0, n)
        v = below(rng, 0, n)
        if u != v:
            add_edge(s, &g, rng, u, v)
    count_hops(s, &g)


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


cdef inline void generate_asteroids(State* s, int node) noexcept nogil:
    # Fill the block of a pending node; what lies there is of an earlier episode.
    cdef uint64_t rng = s.asteroid_rng[node]
    cdef int a
    memset(s.depletion[node], 0, sizeof(s.depletion[node]))
    memset(s.scan_conf[node], 0, sizeof(s.scan_conf[node]))
    memset(s.stability_est[node], 0, sizeof(s.stability_est[node]))
    memset(s.comp_est[node], 0, sizeof(s.comp_est[node]))
    memset(s.true_comp[node], 0, sizeof(s.true_comp[node]))
    memset(s.richness[node], 0, sizeof(s.richness[node]))
    memset(s.stability[node], 0, sizeof(s.stability[node]))
    memset(s.noise[node], 0, sizeof(s.noise[node]))
    for a in range(s.asteroid_count[node]):
        dir6(&rng, s.true_comp[node][a])
        s.richness[node][a] = <float>clamp(exp(normal(&rng, -0.2, 0.65)), 0.2, 4.0)
        s.stability[node][a] = <float>beta32(&rng)
        s.noise[node][a] = <float>uni(&rng, 0.04, 0.22)
        dir6(&rng, s.comp_est[node][a])
        s.stability_est[node][a] = 0.5
        s.scan_conf[node][a] = <float>0.10
    s.pending &= ~((<uint32_t>1) << node)
    s.asteroid_rng[node] = 0


cdef inline void materialise_row(State* s) noexcept nogil:
    cdef int node
    for node in range(MAX_NODES):
        if (s.pending >> node) & 1:
            generate_asteroids(s, node)


cdef inline void generate_market(State* s, const Tables* tb, uint64_t* rng) noexcept nogil:
    cdef int c
    cdef double base, price
    for c in range(NUM_COMMODITIES):
        base = tb.price_base[c]
        s.station_inventory[c] = <float>uni(rng, 20.0, 120.0)
        s.price_phase[c] = <float>uni(rng, 0.0, 6.283185307179586)
        s.price_period[c] = <float>uni(rng, 180.0, 380.0)
        s.price_amp[c] = <float>(base * uni(rng, 0.10, 0.30))
        price = base + s.price_amp[c] * sin(s.price_phase[c])
        s.price[c] = s.prev_price[c] = <float>clamp(price, tb.price_min[c], tb.price_max[c])
        s.recent_sales[c] = 0


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
