"""Loops over lanes, in their order, for all trackers: Numba over arrays, no allocation.

Tables are open addressed with linear probing; ``index[place]`` is the number of an entry or -1, and
``cells[number]`` its key. Their sizes are powers of two.
"""

import numpy as np

from fastenv.numba_cache import cached_njit

jit = cached_njit(nogil=True)

RISE, FALL, CHANGE = 0, 1, 2  # how a value differs from the one at the start of the episode
LANE_BITS = 23  # a pair is lane << (63 - LANE_BITS) | number of an entry
PAIR_SHIFT = 63 - LANE_BITS


# -- tables ----------------------------------------------------------------------------------------


@jit
def home(key, size):
    """Hash a key to its first place: the finaliser of SplitMix64, modulo the size."""
    z = np.uint64(key)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z = z ^ (z >> np.uint64(31))
    return np.int64(z & np.uint64(size - 1))


@jit
def find(index, cells, key):
    """Find the place of a key, or the empty place where it belongs."""
    place = home(key, len(index))
    while index[place] >= 0 and cells[index[place]] != key:
        place = (place + 1) & (len(index) - 1)
    return place


@jit
def index_cells(index, cells, used):
    """Fill the index with the first ``used`` entries."""
    index[:] = -1
    for number in range(used):
        index[find(index, cells, cells[number])] = number


@jit
def remove(index, cells, key):
    """Remove a key and move up those that it displaced (Knuth, TAOCP 3, 6.4, algorithm R)."""
    last = len(index) - 1
    hole = find(index, cells, key)
    place = hole
    while True:
        place = (place + 1) & last
        if index[place] < 0:
            break
        begin = home(cells[index[place]], len(index))
        if ((place - begin) & last) >= ((place - hole) & last):
            index[hole] = index[place]
            hole = place
    index[hole] = -1


# -- visits ----------------------------------------------------------------------------------------


@jit
def first_outside(numbers, limit):
    """Find the first lane whose number is not from -1 to below the limit, or -1."""
    for i in range(len(numbers)):
        if numbers[i] < -1 or numbers[i] >= limit:
            return i
    return -1


@jit
def visit_dense(cell, episode, counts, stamps, count_out, first_out):
    """Count each lane's cell; -1 is nowhere."""
    for i in range(len(cell)):
        c = cell[i]
        count_out[i], first_out[i] = 0, False
        if c >= 0:
            counts[c] += 1
            count_out[i] = counts[c]
            first_out[i] = stamps[i, c] != episode[i]
            stamps[i, c] = episode[i]


@jit
def visit_hashed(
    cell, episode, index, cells, counts, used, pairs, pair_stamps, pairs_used, count_out, first_out
):
    """Count each lane's cell; -1 is nowhere. Return the numbers of cells and of pairs in use.

    ``pairs`` holds keys of lane and entry themselves, and ``pair_stamps`` the episode.
    """
    last = len(pairs) - 1
    for i in range(len(cell)):
        c = cell[i]
        count_out[i], first_out[i] = 0, False
        if c < 0:
            continue
        place = find(index, cells, c)
        if index[place] < 0:
            index[place], cells[used], counts[used] = used, c, 0
            used += 1
        number = index[place]
        counts[number] += 1
        count_out[i] = counts[number]
        pair = (np.int64(i) << PAIR_SHIFT) | number
        place = home(pair, len(pairs))
        while pairs[place] >= 0 and pairs[place] != pair:
            place = (place + 1) & last
        if pairs[place] < 0:
            pairs[place] = pair
            pairs_used += 1
        first_out[i] = pair_stamps[place] != episode[i]
        pair_stamps[place] = episode[i]
    return used, pairs_used


@jit
def place_pairs(pairs, stamps, pairs_out, stamps_out):
    """Put pairs into an empty table."""
    last = len(pairs_out) - 1
    for k in range(len(pairs)):
        place = home(pairs[k], len(pairs_out))
        while pairs_out[place] >= 0:
            place = (place + 1) & last
        pairs_out[place], stamps_out[place] = pairs[k], stamps[k]


@jit
def count_transitions(place, previous, transitions, crossing_out):
    """Count moves from each lane's previous place to its present one, where both are known.

    ``crossing_out`` is the number of such moves until now where the two differ, else 0.
    """
    for i in range(len(place)):
        crossing_out[i] = 0
        if previous[i] >= 0 and place[i] >= 0:
            transitions[previous[i], place[i]] += 1
            if previous[i] != place[i]:
                crossing_out[i] = transitions[previous[i], place[i]]
        previous[i] = place[i]


# -- quests ----------------------------------------------------------------------------------------


@jit
def advance_quests(values, first, low, high, reward, progress, finished, bonus_out):
    """Advance each lane's open quests by one stage at most; quests in their order.

    The stages of quest ``q`` are ``first[q] .. first[q + 1] - 1``; ``low`` and ``high`` have a
    column for each of ``values``.
    """
    quests = len(first) - 1
    for i in range(len(values)):
        bonus_out[i] = 0.0
        for q in range(quests):
            stage = first[q] + progress[i, q]
            if stage == first[q + 1]:  # it is complete
                continue
            met = True
            for k in range(values.shape[1]):
                if not low[stage, k] <= values[i, k] <= high[stage, k]:
                    met = False
                    break
            if met:
                bonus_out[i] += reward[stage]
                progress[i, q] += 1
                if stage + 1 == first[q + 1]:
                    finished[q] += 1


# -- progress --------------------------------------------------------------------------------------


@jit
def find_hits(values, kind, threshold, baseline, hit):
    """Mark the events that each lane has seen in its episode."""
    for i in range(len(values)):
        for e in range(len(kind)):
            if hit[i, e]:
                continue
            change = values[i, e] - baseline[i, e]
            if kind[e] == FALL or (kind[e] == CHANGE and change < 0.0):
                change = -change
            hit[i, e] = change >= threshold[e]


@jit
def update_posteriors(lanes, hit, keep, alpha, beta):
    """Count the episodes that ended in these lanes, one after the other."""
    for lane in lanes:
        for e in range(len(alpha)):
            seen = 1.0 if hit[lane, e] else 0.0
            alpha[e] = 1.0 + keep * (alpha[e] - 1.0) + seen
            beta[e] = 1.0 + keep * (beta[e] - 1.0) + (1.0 - seen)


# -- archive ---------------------------------------------------------------------------------------


@jit
def most_visited(visits, last_step):
    """Find the slot with most visits, among them the one not seen for longest."""
    worst = 0
    for s in range(1, len(visits)):
        more = visits[s] > visits[worst]
        if more or (visits[s] == visits[worst] and last_step[s] < last_step[worst]):
            worst = s
    return worst


@jit
def add_cells(
    cell, score, count, limit, step, index, cells, visits, scores, last_step, used, owner, new_slots
):
    """Visit cells, taking up new ones; ``owner[slot]`` is the position in ``cell`` of a new one.

    Returns the number of slots in use and the number of ``new_slots``, in which a slot that was
    taken twice stands twice.
    """
    new = 0
    for k in range(len(cell)):
        place = find(index, cells, cell[k])
        slot = index[place]
        if slot >= 0:
            visits[slot] += 1
            scores[slot] = max(scores[slot], score[k])
            last_step[slot] = step
            continue
        if count[k] > limit:
            continue
        if used < len(cells):
            slot = used
            used += 1
        else:
            slot = most_visited(visits, last_step)
            remove(index, cells, cells[slot])
            place = find(index, cells, cell[k])
        index[place] = slot
        cells[slot], visits[slot], scores[slot], last_step[slot] = cell[k], 1, score[k], step
        owner[slot] = k
        new_slots[new] = slot
        new += 1
    return used, new
