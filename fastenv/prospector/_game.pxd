# The state machine (docs/prospector.md, 7 to 11) as inline functions on one row; the readable twin
# is the class Prospector of reference.py. Same steps, same names, same order of draws.
#
# Arithmetic is binary64 but for what is stored: mind that C multiplies two floats as floats, hence
# the casts. Nothing may be reordered: the results are compared bit for bit.
from libc.math cimport exp, log1p, pow, sin, sqrt
from libc.stdint cimport int8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from fastenv.prospector._pcg cimport *
from fastenv.prospector._state cimport *
from fastenv.prospector._world cimport *


cdef extern from "_actions.h":
    ctypedef struct Scan:
        double blend
        double gain
        double noise
        int dt
        double fuel
        double alert

    ctypedef struct Mine:
        double factor
        double heat
        double wear
        double alert
        double sigma
        double fracture_bias

    const Scan SCANS[3]
    const Mine MINES[3]
    const double SELL_SHARES[3]
    const double FUEL_PRICES[3]
    const double FUEL_AMOUNTS[3]
    const double PRICE_REPAIR_KIT, PRICE_STABILIZER, PRICE_DECOY, PRICE_OVERHAUL

cdef extern from "_maths.h":
    bint fastenv_prices(
        const uint32_t* draws, double t, const float* phase, const float* period, const float* amp,
        const float* inventory, const float* sales, const double* base, const double* sigma,
        const double* low, const double* high, double slack, float* price,
    ) noexcept nogil


# -- small things -------------------------------------------------------------------------------

cdef inline double positive(double x) noexcept nogil:
    return x if x > 0.0 else 0.0


cdef inline bint some(const void* start, int size) noexcept nogil:
    # Whether any of `size` bytes, a multiple of 8, is set; often nothing is, and work can be left out.
    cdef uint64_t word, found = 0
    cdef int i
    for i in range(size // 8):
        memcpy(&word, <const char*>start + 8 * i, 8)
        found |= word
    return found != 0


cdef inline float cargo_sum(const State* s) noexcept nogil:
    cdef float total = s.cargo[0]
    cdef int c
    for c in range(1, NUM_COMMODITIES):
        total += s.cargo[c]
    return total


cdef inline double cargo_value(const State* s) noexcept nogil:
    cdef double total
    cdef int c
    if not some(s.cargo, sizeof(s.cargo)):
        return 0.0
    total = <double>s.cargo[0] * s.price[0]
    for c in range(1, NUM_COMMODITIES):
        total += <double>s.cargo[c] * s.price[c]
    return total


cdef inline void scale_cargo(State* s, float k) noexcept nogil:
    cdef int c
    for c in range(NUM_COMMODITIES):
        s.cargo[c] *= k


cdef inline double sigmoid(double x) noexcept nogil:
    return 1.0 / (1.0 + exp(-x))


cdef inline void norm6(double* v) noexcept nogil:
    cdef double total = 0.0
    cdef int c
    for c in range(6):
        v[c] = v[c] if v[c] > 1e-8 else 1e-8
        total += v[c]
    for c in range(6):
        v[c] /= total


# -- what is valid (docs/prospector.md, 15) -----------------------------------------------------

cdef inline bint can_work(const State* s, int a) noexcept nogil:
    # Asteroid `a` is here and not used up.
    cdef int node = s.current_node
    return 0 <= a < s.asteroid_count[node] and s.depletion[node][a] < 1.0


cdef inline bint can_buy(const State* s, double cost, int stock) noexcept nogil:
    return s.current_node == 0 and s.credits >= cost and stock < SUPPLY_MAX


cdef inline bint is_legal(const State* s, int a) noexcept nogil:
    if a < 0 or a >= NUM_ACTIONS:
        return False
    if a < HOLD:
        return s.neighbor[s.current_node][a] >= 0
    if SELECT <= a < MINE_CONSERVATIVE:
        return can_work(s, a - SELECT)
    if a == SCAN_FOCUSED or a == SCAN_DEEP or MINE_CONSERVATIVE <= a <= MINE_AGGRESSIVE:
        return can_work(s, s.selected)
    if a == STABILIZE:
        return s.stabilizers > 0 and can_work(s, s.selected)
    if a == MAINTAIN_TOOL or a == PATCH_HULL:
        return s.repair_kits > 0
    if DOCK <= a < BUY_FUEL_SMALL:
        return s.current_node == 0
    if BUY_FUEL_SMALL <= a <= BUY_FUEL_LARGE:
        return can_buy(s, FUEL_PRICES[a - BUY_FUEL_SMALL], 0)
    if a == BUY_REPAIR_KIT:
        return can_buy(s, PRICE_REPAIR_KIT, s.repair_kits)
    if a == BUY_STABILIZER:
        return can_buy(s, PRICE_STABILIZER, s.stabilizers)
    if a == BUY_DECOY:
        return can_buy(s, PRICE_DECOY, s.decoys)
    if a == OVERHAUL:
        return can_buy(s, PRICE_OVERHAUL, 0)
    return True


# -- sub-procedures (docs/prospector.md, 9) -----------------------------------------------------

cdef inline void hold(State* s) noexcept nogil:
    s.alert = positive(s.alert - 3.0)
    s.heat = positive(s.heat - 2.5)


cdef inline void pirates(State* s, int dt, double intensity) noexcept nogil:
    cdef double before, p, loss
    if s.current_node == 0:
        return
    before = cargo_value(s)
    p = -4.0 + 3.0 * intensity + 2.2 * clamp(s.alert / 100.0, 0.0, 1.0)
    if before > 0.0:  # log1p(0) is 0
        p += 0.8 * log1p(before / 1000.0)
    p -= 2.8 if s.escape_ticks > 0 else 0.0
    p = 1.0 - sigmoid(p)
    if dt > 1:  # pow(x, 1) is x
        p = pow(p, <double>dt)
    if uniform(&s.rng) >= 1.0 - p:
        return
    s.pirate_encounters += 1
    loss = uni(&s.rng, 0.08, 0.20)
    if s.decoys > 0 and uniform(&s.rng) < 0.6:
        s.decoys -= 1
        loss *= 0.3
    scale_cargo(s, <float>(1.0 - loss))
    s.value_lost += positive(before - cargo_value(s))
    s.hull -= uni(&s.rng, 1.0, 4.0)
    s.alert += 8.0


cdef inline int travel(State* s, const Tables* tb, int slot) noexcept nogil:
    cdef int node = s.current_node, dt = s.edge_time[node][slot]
    cdef double threat = s.edge_threat[node][slot]
    s.fuel -= s.edge_fuel[node][slot] * (1.0 + 0.5 * (cargo_sum(s) / 200.0))
    node = s.neighbor[node][slot]
    s.current_node = node
    s.selected = -1
    if (s.pending >> node) & 1:
        generate_asteroids(s, tb, node)
    s.hull -= ((dt * threat) * 0.7) * uni(&s.rng, 0.85, 1.15)
    s.heat += (dt * threat) * 0.5
    s.alert += (dt * threat) * 0.8
    pirates(s, dt, threat)
    return dt


cdef inline void scan(State* s, int node, int a, const Scan* mode) noexcept nogil:
    cdef int c
    cdef double conf = s.scan_conf[node][a], rest = 1.0 - mode.blend, stability
    cdef double sigma = (s.noise[node][a] * ((1.0 - conf) + 0.1)) * mode.noise
    cdef double x[6]
    cdef double blend[6]
    for c in range(6):
        x[c] = s.true_comp[node][a][c] + normal(&s.rng, sigma)
    norm6(x)
    for c in range(6):
        blend[c] = rest * s.comp_est[node][a][c] + mode.blend * x[c]
    norm6(blend)
    for c in range(6):
        s.comp_est[node][a][c] = <float>blend[c]
    stability = clamp(s.stability[node][a] + normal(&s.rng, sigma), 0.0, 1.0)
    stability = rest * s.stability_est[node][a] + mode.blend * stability
    s.stability_est[node][a] = <float>clamp(stability, 0.0, 1.0)
    s.scan_conf[node][a] = <float>clamp(conf + mode.gain, 0.0, 1.0)


cdef inline int scan_node(State* s, int action, bint valid) noexcept nogil:
    # Fuel and alert are paid even if no asteroid is selected.
    cdef const Scan* mode = &SCANS[action - SCAN_WIDE]
    cdef int a
    s.fuel -= mode.fuel
    s.alert += mode.alert
    if not valid:
        return 1
    if action == SCAN_WIDE:
        for a in range(s.asteroid_count[s.current_node]):
            scan(s, s.current_node, a, mode)
    else:
        scan(s, s.current_node, s.selected, mode)
    s.scan_count += 1
    return mode.dt


cdef inline void mine(State* s, const Mine* mode) noexcept nogil:
    cdef int c, node = s.current_node, a = s.selected
    cdef double depletion = s.depletion[node][a]
    cdef double tool = clamp(s.tool / 100.0, 0.0, 1.0), heat = clamp(s.heat / 100.0, 0.0, 2.0)
    cdef double too_hot, k, room, risk, total = 0.0
    cdef double x[6]
    too_hot = 1.0
    if heat > 0.7:
        too_hot = 1.0 - (heat - 0.7) / 0.3
        too_hot = too_hot if too_hot > 0.1 else 0.1
    k = s.richness[node][a] * positive(1.0 - depletion)
    k = k * (0.4 + 0.6 * tool) * too_hot * mode.factor * exp(normal(&s.rng, mode.sigma))
    for c in range(6):
        x[c] = k * s.true_comp[node][a][c]
        total += x[c]
    room = positive(200.0 - cargo_sum(s))
    if total > room and total > 0.0:
        k = room / total
        for c in range(6):
            x[c] *= k
        total = room
    for c in range(6):
        s.cargo[c] += <float>x[c]
    s.heat += mode.heat
    s.tool -= mode.wear
    s.alert += mode.alert
    s.depletion[node][a] = <float>clamp(depletion + 0.01 * total, 0.0, 1.0)
    s.mining_ticks += 1
    risk = -3.1 + mode.fracture_bias + 2.5 * (1.0 - s.stability[node][a])
    risk = risk + 2.2 * positive(heat - 0.7) + 1.5 * (1.0 - tool)
    risk -= 1.1 if s.stabilize_ticks[a] > 0 else 0.0
    if uniform(&s.rng) < sigmoid(risk):
        s.hull -= 12.0 * uni(&s.rng, 0.5, 1.0)
        s.depletion[node][a] = 1.0
        s.node_hazard[node] = <float>clamp(s.node_hazard[node] + 0.1, 0.0, 1.0)


cdef inline void listen(State* s) noexcept nogil:
    cdef int k, node = s.current_node
    cdef double heard
    for k in range(MAX_NEIGHBORS):
        if s.neighbor[node][k] >= 0:
            heard = clamp(s.edge_threat[node][k] + normal(&s.rng, 0.08), 0.0, 1.0)
            s.edge_threat_est[node][k] = <float>(
                0.25 * s.edge_threat_est[node][k] + 0.75 * heard
            )


cdef inline void refine(State* s) noexcept nogil:
    cdef float low = s.cargo[0] + s.cargo[1], k
    cdef double refined, share
    if low <= 0:
        return
    refined = 0.15 * low
    share = refined / low
    k = <float>(1.0 - (share if share < 1.0 else 1.0))
    s.cargo[0] *= k
    s.cargo[1] *= k
    s.cargo[4] += <float>(0.65 * refined)


cdef inline void sell(State* s, int c, double share) noexcept nogil:
    cdef double q = s.cargo[c] * share, ratio, slip
    if q <= 0.0:
        return
    ratio = s.station_inventory[c] + q
    ratio = q / (ratio if ratio > 1.0 else 1.0)
    slip = clamp(0.25 * ratio + 0.2 * sqrt(ratio), 0.0, 0.70)
    s.credits += q * (s.price[c] * (1.0 - slip))
    s.cargo[c] = <float>positive(s.cargo[c] - q)
    s.station_inventory[c] += <float>q
    s.recent_sales[c] += <float>q


cdef inline void pay(State* s, double cost) noexcept nogil:
    s.credits -= cost
    s.total_spend += cost


cdef inline void trade(State* s, int action) noexcept nogil:
    # What only the station offers: sell and buy.
    if action < BUY_FUEL_SMALL:
        sell(s, (action - SELL) // 3, SELL_SHARES[(action - SELL) % 3])
    elif action <= BUY_FUEL_LARGE:
        pay(s, FUEL_PRICES[action - BUY_FUEL_SMALL])
        s.fuel += FUEL_AMOUNTS[action - BUY_FUEL_SMALL]
        s.fuel = s.fuel if s.fuel < 1000.0 else 1000.0
    elif action == BUY_REPAIR_KIT:
        pay(s, PRICE_REPAIR_KIT)
        s.repair_kits += 1
    elif action == BUY_STABILIZER:
        pay(s, PRICE_STABILIZER)
        s.stabilizers += 1
    elif action == BUY_DECOY:
        pay(s, PRICE_DECOY)
        s.decoys += 1
    else:
        pay(s, PRICE_OVERHAUL)
        s.hull = s.tool = 100.0


cdef inline int work(State* s, int action) noexcept nogil:
    # What the crew does on board: BURN and STABILIZE to PATCH_HULL.
    if action == BURN:
        s.fuel -= 18.0
        s.alert += 10.0
        s.escape_ticks = s.escape_ticks if s.escape_ticks > 4 else 4
        return 1
    if action == STABILIZE:
        s.stabilizers -= 1
        s.stabilize_ticks[s.selected] = 6
    elif action == REFINE:
        s.fuel -= 4.0
        s.heat += 6.0
        s.alert += 3.0
        refine(s)
    elif action == COOLDOWN:
        s.fuel -= 2.0
        s.heat = positive(s.heat - 20.0)
        s.alert += 1.0
    elif action == MAINTAIN_TOOL:
        s.repair_kits -= 1
        s.tool = s.tool + 25.0 if s.tool + 25.0 < 100.0 else 100.0
    else:
        s.repair_kits -= 1
        s.hull = s.hull + 20.0 if s.hull + 20.0 < 100.0 else 100.0
    return 2


cdef inline int apply_action(
    State* s, const Tables* tb, int action, bint valid
) noexcept nogil:
    # docs/prospector.md, 8; returns dt.
    if SCAN_WIDE <= action <= SCAN_DEEP:
        return scan_node(s, action, valid)
    if not valid:
        return 1
    if action == HOLD:
        hold(s)
    elif action < HOLD:
        return travel(s, tb, action)
    elif action == LISTEN:
        listen(s)
        return 2
    elif action == BURN or STABILIZE <= action <= PATCH_HULL:
        return work(s, action)
    elif action < MINE_CONSERVATIVE:
        s.selected = action - SELECT
    elif action < STABILIZE:
        mine(s, &MINES[action - MINE_CONSERVATIVE])
    elif action < DOCK:
        s.cargo[action - JETTISON] = 0
        s.alert = positive(s.alert - 8.0)
    elif action == DOCK:
        s.alert = positive(s.alert - 20.0)
    elif action < CASH_OUT:
        trade(s, action)
        return 3 if action == OVERHAUL else 1
    return 1


# -- global dynamics (docs/prospector.md, 10) ---------------------------------------------------

cdef inline bint find_prices(
    State* s, const Tables* tb, int dt, const uint32_t* draws, double slack
) noexcept nogil:
    cdef double t = <double>(s.ticks_elapsed + dt), cycle, noise, price
    cdef int c
    if fastenv_prices(
        draws, t, s.price_phase, s.price_period, s.price_amp, s.station_inventory, s.recent_sales,
        tb.price_base, tb.price_sigma[dt], tb.price_min, tb.price_max, slack, s.price,
    ):
        return True
    for c in range(NUM_COMMODITIES):
        cycle = s.price_amp[c] * sin(6.283185307179586 * (t / s.price_period[c]) + s.price_phase[c])
        noise = tb.price_sigma[dt][c] * normal_of(draws[2 * c], draws[2 * c + 1])
        price = tb.price_base[c] + cycle - 0.04 * s.station_inventory[c]
        price = price - 0.05 * s.recent_sales[c] + noise
        s.price[c] = <float>clamp(price, tb.price_min[c], tb.price_max[c])
    return False


cdef inline void market(State* s, const Tables* tb, int dt) noexcept nogil:
    cdef uint32_t draws[2 * NUM_COMMODITIES]
    cdef uint64_t rng = s.rng
    cdef int c
    for c in range(2 * NUM_COMMODITIES):
        draws[c] = next_u32(&rng)
    s.rng = rng
    memcpy(s.prev_price, s.price, sizeof(s.price))
    find_prices(s, tb, dt, draws, 1.0)
    for c in range(NUM_COMMODITIES):
        s.recent_sales[c] *= tb.sales_decay[dt]
        s.station_inventory[c] *= <float>0.998
        s.station_inventory[c] = s.station_inventory[c] if s.station_inventory[c] > 0 else 0


cdef inline void expose(State* s, int dt) noexcept nogil:
    # 10.5: what the node does to a ship in the field.
    cdef int node = s.current_node
    cdef double hazard = s.node_hazard[node]
    if hazard > 0.0:
        s.hull -= ((dt * hazard) * 0.7) * uni(&s.rng, 0.8, 1.2)
        s.heat += (dt * hazard) * 0.5
        s.alert += (dt * hazard) * 0.8
    pirates(s, dt, s.node_pirate[node])


cdef inline void limit_cargo(State* s) noexcept nogil:
    cdef int c
    cdef float total
    for c in range(NUM_COMMODITIES):
        s.cargo[c] = <float>clamp(s.cargo[c], 0.0, 200.0)
    total = cargo_sum(s)
    if total > <float>200.0:
        scale_cargo(s, <float>(200.0 / total))


cdef inline void run_ticks(State* s, const Rules* r, const Tables* tb, int dt) noexcept nogil:
    cdef int a
    s.time_remaining -= dt
    s.heat = positive(s.heat - 2.5 * dt)
    s.escape_ticks = s.escape_ticks - dt if s.escape_ticks > dt else 0
    if some(s.stabilize_ticks, sizeof(s.stabilize_ticks)):
        for a in range(MAX_ASTEROIDS):
            s.stabilize_ticks[a] = s.stabilize_ticks[a] - dt if s.stabilize_ticks[a] > dt else 0
    if s.heat > 100.0:
        s.hull -= 1.25 * (s.heat - 100.0)
        s.heat = 100.0
        s.overheat_ticks += dt
    if s.current_node != 0:
        expose(s, dt)
    market(s, tb, dt)
    s.fuel = clamp(s.fuel, 0.0, 1000.0)
    s.hull = clamp(s.hull, 0.0, 100.0)
    s.heat = clamp(s.heat, 0.0, 100.0)
    s.tool = clamp(s.tool, 0.0, 100.0)
    s.alert = clamp(s.alert, 0.0, 100.0)
    s.time_remaining = clamp(s.time_remaining, 0.0, r.time_max)
    if some(s.cargo, sizeof(s.cargo)):
        limit_cargo(s)
        s.util_sum += clamp(cargo_sum(s) / 200.0, 0.0, 1.0) * dt
    else:
        s.util_sum += 0.0  # of -0.0 makes 0.0
    s.util_count += dt


# -- one step (docs/prospector.md, 7, 11) -------------------------------------------------------

cdef inline bint step_row(State* s, const Rules* r, const Tables* tb, int action) noexcept nogil:
    # Returns whether what is seen around the ship may have changed: obs[24:244].
    cdef bint valid
    cdef int dt, resolved = action
    if s.done:
        return False
    s.ev_credits, s.ev_fuel, s.ev_hull, s.ev_tool = s.credits, s.fuel, s.hull, s.tool
    s.ev_cargo_value = cargo_value(s)
    s.ev_value_lost = s.value_lost
    valid = is_legal(s, action)
    if action < 0 or action >= NUM_ACTIONS:
        resolved = HOLD  # and once more below: the rules say so
    dt = apply_action(s, tb, resolved, valid or resolved != action)
    if not valid:
        dt = 1
        hold(s)
    run_ticks(s, r, tb, dt)
    s.ticks_elapsed += dt
    s.ev_action, s.ev_dt, s.ev_invalid = resolved, dt, not valid
    s.ev_destroyed = s.hull <= 0.0
    s.ev_stranded = s.fuel <= 0.0 and s.current_node != 0
    if resolved == CASH_OUT or s.ev_destroyed or s.ev_stranded:
        s.done = 1
    elif s.time_remaining <= 0.0:
        s.done = 2
    return valid and (action < HOLD or SCAN_WIDE <= action < STABILIZE)
