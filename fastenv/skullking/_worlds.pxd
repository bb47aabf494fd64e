# Worlds: the hidden part of a row drawn anew, as inline functions; the readable twin is worlds.py.
# Same steps, same names, same order of draws.
from libc.stdint cimport int8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from fastenv._rng cimport rng_bounded, rng_next, rng_uniform
from fastenv.skullking._bots cimport bot_bid
from fastenv.skullking._game cimport clear_events, look_again
from fastenv.skullking._rules cimport *
from fastenv.skullking._state cimport *

cdef enum:
    DRAWN = -1  # places that are no hand
    DISCARDED = -2
    STOCK = -3
    MAX_PLACES = MAX_PLAYERS + 3
    MAX_REJECTIONS = 500
    SWAPS = 64
    NO_PLACE = -1


cdef struct Place:
    int name  # the seat of a hand, or DRAWN, DISCARDED or STOCK
    int size
    int most  # see `most_choice`
    int start  # of its cards in `Unseen.dealt`
    uint64_t fits[2]


cdef struct Unseen:
    uint64_t cards[2]
    int num_places, num_bound
    Place place[MAX_PLACES]
    int8_t bound[MAX_PLACES]  # places that cannot hold every card, the least choice first
    int8_t dealt[NUM_CARDS + 16]  # fastenv_sort_hand reads 16 from any place


cdef extern from "_portable.h":
    int fastenv_popcount(uint64_t bits) noexcept nogil


# -- sets of cards ------------------------------------------------------------------------------

cdef inline int size_of(const uint64_t* cards) noexcept nogil:
    return fastenv_popcount(cards[0]) + fastenv_popcount(cards[1])


cdef inline void set_remove(uint64_t* words, int card) noexcept nogil:
    words[card >> 6] &= ~((<uint64_t>1) << (card & 63))


cdef inline int list_cards(const uint64_t* cards, int8_t* out) noexcept nogil:
    # The cards in ascending order.
    cdef int n = 0
    cdef uint64_t word = cards[0]
    while word:
        out[n] = fastenv_lowest_bit(word)
        word &= word - 1
        n += 1
    word = cards[1]
    while word:
        out[n] = 64 + fastenv_lowest_bit(word)
        word &= word - 1
        n += 1
    return n


cdef inline void shuffle(int8_t* cards, int n, uint64_t* rng) noexcept nogil:
    cdef int i, j
    cdef int8_t swap
    for i in range(n - 1, 0, -1):
        j = rng_bounded(rng, <uint32_t>i + 1)
        swap = cards[i]
        cards[i] = cards[j]
        cards[j] = swap


# -- what is known ------------------------------------------------------------------------------

cdef inline bint asks_for_tigress(const State* s, int agent) noexcept nogil:
    return s.phase == TIGRESS_MODE and agent != s.actor


cdef inline bint discards_next(const State* s, int agent) noexcept nogil:
    return (s.phase == BENDT_1 or s.phase == BENDT_2) and agent != s.actor


cdef inline void unseen_cards(
    const State* s, const Rules* r, int agent, uint64_t* cards
) noexcept nogil:
    cdef int i
    cards[0], cards[1] = ~(<uint64_t>0), ((<uint64_t>1) << (NUM_CARDS - 64)) - 1
    if r.deck_len < NUM_CARDS:
        cards[0] = cards[1] = 0
        for i in range(r.deck_len):
            set_add(cards, r.deck[i])
    cards[0] &= ~s.played[0]
    cards[1] &= ~s.played[1]
    for i in range(s.hand_len[agent]):
        set_remove(cards, s.hand[agent][i])
    if agent == s.bendt_seat:
        for i in range(2):
            if s.discard[i] >= 0:
                set_remove(cards, s.discard[i])
    if asks_for_tigress(s, agent):
        set_remove(cards, CARD_TIGRESS)


cdef inline void add_place(
    Unseen* u, int name, int size, const uint64_t* fits, const Tables* tb, int voids
) noexcept nogil:
    cdef Place* place = &u.place[u.num_places]
    cdef int suit
    place.name, place.size = name, size
    place.start = 0
    if u.num_places:
        place.start = u.place[u.num_places - 1].start + u.place[u.num_places - 1].size
    place.fits[0], place.fits[1] = fits[0], fits[1]
    for suit in range(4):
        if (voids >> suit) & 1:
            place.fits[0] &= ~tb.suit_set[suit][0]
            place.fits[1] &= ~tb.suit_set[suit][1]
    if place.fits[0] != u.cards[0] or place.fits[1] != u.cards[1]:
        u.bound[u.num_bound] = u.num_places
        u.num_bound += 1
    u.num_places += 1


cdef inline void find_places(
    Unseen* u, const State* s, const Rules* r, const Tables* tb, int agent
) noexcept nogil:
    cdef uint64_t shown[2]
    cdef uint64_t unshown[2]
    cdef const uint64_t* hand
    cdef const uint64_t* stock = u.cards  # what is in it, and what was drawn just now
    cdef const uint64_t* taken = unshown  # what who drew may have
    cdef bint looked = agent == s.jade_seat, drawing = discards_next(s, agent)
    cdef int i, seat, size, drew = s.bendt_seat
    shown[0] = shown[1] = 0
    if looked:
        for i in range(s.jade_pos, s.stock_len):
            set_add(shown, s.stock[i])
    shown[0] &= u.cards[0]
    shown[1] &= u.cards[1]
    unshown[0], unshown[1] = u.cards[0] & ~shown[0], u.cards[1] & ~shown[1]
    if s.jade_pos < s.stock_pos and agent != drew:
        taken = u.cards
    if looked:
        stock = shown
    u.num_places = u.num_bound = 0
    for seat in range(r.num_hands):
        if seat == agent:
            continue
        size = s.hand_len[seat]
        if seat == s.actor:
            size -= asks_for_tigress(s, agent) + s.stock_pos * drawing
        hand = taken if seat == drew and not drawing else unshown
        add_place(u, seat, size, hand, tb, s.voids[seat])
    if drawing:
        add_place(u, DRAWN, s.stock_pos, stock, tb, 0)
    if s.discard[0] >= 0 and agent != drew:
        add_place(u, DISCARDED, 1 + (s.discard[1] >= 0), taken, tb, 0)
    add_place(u, STOCK, s.stock_len - s.stock_pos, stock, tb, 0)


# -- the draw -----------------------------------------------------------------------------------

cdef inline void sort_bound(Unseen* u) noexcept nogil:
    # Insertion sort by choice, and stable.
    cdef int choice[MAX_PLACES]
    cdef int i, j
    cdef int8_t moving
    cdef Place* place
    for i in range(u.num_bound):
        place = &u.place[u.bound[i]]
        place.most = size_of(place.fits) - place.size
        moving, j = u.bound[i], i
        while j > 0 and choice[j - 1] > place.most:
            choice[j], u.bound[j] = choice[j - 1], u.bound[j - 1]
            j -= 1
        choice[j], u.bound[j] = place.most, moving


cdef inline void most_choice(Unseen* u) noexcept nogil:
    # The most cards that can be left to choose from. What the places before cannot fill with cards
    # that do not fit here, they take from those that do.
    cdef uint64_t before[2]
    cdef uint64_t beside[2]
    cdef int i, size = 0
    cdef Place* place
    before[0] = before[1] = 0
    for i in range(u.num_bound):
        place = &u.place[u.bound[i]]
        beside[0], beside[1] = before[0] & ~place.fits[0], before[1] & ~place.fits[1]
        place.most = size_of(place.fits) - max(0, size - size_of(beside))
        size += place.size
        before[0] |= place.fits[0]
        before[1] |= place.fits[1]


cdef inline double propose(Unseen* u, uint64_t* left, uint64_t* rng) noexcept nogil:
    # Fill one place after the other; return the probability to take it, 0 at a dead end.
    cdef int8_t cards[NUM_CARDS]
    cdef uint64_t choice[2]
    cdef double weight = 1.0
    cdef int k, i, j, n
    cdef int8_t swap
    cdef const Place* place
    left[0], left[1] = u.cards[0], u.cards[1]
    for k in range(u.num_bound):
        place = &u.place[u.bound[k]]
        choice[0], choice[1] = place.fits[0] & left[0], place.fits[1] & left[1]
        n = list_cards(choice, cards)
        if n < place.size:
            return 0.0
        for i in range(place.size):
            j = i + <int>rng_bounded(rng, <uint32_t>(n - i))
            swap = cards[i]
            cards[i] = cards[j]
            cards[j] = swap
            u.dealt[place.start + i] = cards[i]
            set_remove(left, cards[i])
            weight = weight * (n - i) / (place.most - i)
    return weight


cdef inline void deal_bound(Unseen* u, uint64_t* left, uint64_t* rng) noexcept nogil:
    cdef double weight
    cdef int _i
    sort_bound(u)
    most_choice(u)
    for _i in range(MAX_REJECTIONS):
        weight = propose(u, left, rng)
        if weight == 1.0 or (weight > 0.0 and rng_uniform(rng) < weight):
            return
    find_world(u, left, rng)


cdef inline bint fits(const Unseen* u, int k, int card) noexcept nogil:
    return k == NO_PLACE or set_has(u.place[u.bound[k]].fits, card)


cdef inline bint give(
    const Unseen* u, const int8_t* cards, int n, int8_t* owner, int k, uint64_t* tried
) noexcept nogil:
    # Find a card for a bound place, if need be one that its owner can replace.
    cdef int i, card
    for i in range(n):
        card = cards[i]
        if set_has(tried, card) or not fits(u, k, card):
            continue
        set_add(tried, card)
        if owner[card] == NO_PLACE or give(u, cards, n, owner, owner[card], tried):
            owner[card] = k
            return True
    return False


cdef inline void find_world(Unseen* u, uint64_t* left, uint64_t* rng) noexcept nogil:
    # An assignment where hardly any is left, mixed by swaps that fit.
    cdef int8_t cards[NUM_CARDS]
    cdef int8_t owner[NUM_CARDS]  # index of a bound place
    cdef uint64_t tried[2]
    cdef int k, i, j, _i, one, other, n = list_cards(u.cards, cards)
    cdef Place* place
    memset(owner, NO_PLACE, sizeof(owner))
    for k in range(u.num_bound):
        for _i in range(u.place[u.bound[k]].size):
            tried[0] = tried[1] = 0
            give(u, cards, n, owner, k, tried)
    for _i in range(SWAPS * n):
        one = cards[rng_bounded(rng, <uint32_t>n)]
        other = cards[rng_bounded(rng, <uint32_t>n)]
        if fits(u, owner[one], other) and fits(u, owner[other], one):
            owner[one], owner[other] = owner[other], owner[one]
    left[0], left[1] = u.cards[0], u.cards[1]
    for k in range(u.num_bound):
        place = &u.place[u.bound[k]]
        j = 0
        for i in range(n):
            if owner[cards[i]] == k:
                u.dealt[place.start + j] = cards[i]
                set_remove(left, cards[i])
                j += 1
        shuffle(u.dealt + place.start, j, rng)


cdef inline bint is_bound(const Unseen* u, int place) noexcept nogil:
    return (
        u.place[place].fits[0] != u.cards[0] or u.place[place].fits[1] != u.cards[1]
    )


cdef inline void deal_unseen(Unseen* u, uint64_t* rng) noexcept nogil:
    # All assignments that fit are equally likely, see `deal` of the twin.
    cdef int8_t rest[NUM_CARDS]
    cdef uint64_t left[2]
    cdef int i, n, k = 0
    memset(u.dealt, 0, sizeof(u.dealt))
    if u.num_bound == 0:
        shuffle(u.dealt, list_cards(u.cards, u.dealt), rng)
        return
    deal_bound(u, left, rng)
    n = list_cards(left, rest)
    shuffle(rest, n, rng)
    for i in range(u.num_places):
        if not is_bound(u, i):
            memcpy(u.dealt + u.place[i].start, rest + k, u.place[i].size)
            k += u.place[i].size


# -- into the row -------------------------------------------------------------------------------

cdef inline void put_hand(
    State* s, const Rules* r, int agent, const Place* place, int8_t* cards
) noexcept nogil:
    cdef int8_t more[16]
    cdef int n = place.size
    if place.name >= r.num_players:
        memcpy(s.hand[place.name], cards, n)
        return
    if place.name == s.actor and asks_for_tigress(s, agent):
        memset(more, 0, 16)
        memcpy(more, cards, n)
        more[n] = CARD_TIGRESS
        fastenv_sort_hand(s.hand[place.name], more, n + 1)
    else:
        fastenv_sort_hand(s.hand[place.name], cards, n)


cdef inline void put_discards(
    State* s, int agent, const int8_t* cards, int n, const int8_t* stock
) noexcept nogil:
    # Which cards were drawn only follows if all were shown; else it may be the discarded ones.
    cdef int8_t drawn[16]
    cdef uint64_t shown[2]
    cdef int i
    memcpy(s.discard, cards, n)
    memset(drawn, 0, 16)
    memcpy(drawn, cards, n)
    if agent == s.jade_seat and s.jade_pos < s.stock_pos:
        shown[0] = shown[1] = 0
        for i in range(s.jade_pos, s.stock_len):
            set_add(shown, s.stock[i])
        for i in range(s.stock_len - s.stock_pos):
            set_remove(shown, stock[i])
        list_cards(shown, s.stock)  # at most two are left
    else:
        fastenv_sort_hand(s.stock, drawn, n)


cdef inline void put(State* s, const Rules* r, int agent, Unseen* u) noexcept nogil:
    # Sets alone stay: who looked has seen the stock.
    cdef const Place* place
    cdef int8_t* cards
    cdef int8_t* stock = u.dealt + u.place[u.num_places - 1].start
    cdef int i
    for i in range(u.num_places):
        place = &u.place[i]
        cards = u.dealt + place.start
        if place.name >= 0:
            put_hand(s, r, agent, place, cards)
        elif place.name == DRAWN:
            memcpy(s.hand[s.actor] + s.hand_len[s.actor] - place.size, cards, place.size)
            memcpy(s.stock, cards, place.size)
        elif place.name == DISCARDED:
            put_discards(s, agent, cards, place.size, stock)
        else:
            memcpy(s.stock + s.stock_pos, cards, place.size)


cdef inline void draw_secrets(
    State* s, const Rules* r, const Tables* tb, int agent, uint64_t* rng
) noexcept nogil:
    # Bids and cannons that are not revealed yet, by rules that all seats have in common.
    cdef int seat
    for seat in range(r.num_players):
        if seat == agent:
            continue
        if s.bid[seat] >= 0:
            s.bid[seat] = bot_bid(s, tb, seat, HEURISTIC, rng)
        if r.scoring == SCORE_CANNON:
            s.cannon[seat] = rng_bounded(rng, 2)


cdef inline void resample_row(
    State* s, const Rules* r, const Tables* tb, int agent, uint64_t* given
) noexcept nogil:
    cdef Unseen u
    cdef uint64_t rng[4]  # a local copy stays in registers through the shuffle
    cdef int i
    for i in range(4):
        rng[i] = given[i]
    unseen_cards(s, r, agent, u.cards)
    find_places(&u, s, r, tb, agent)
    deal_unseen(&u, rng)
    put(s, r, agent, &u)
    if agent != s.agent:
        clear_events(s)  # they tell of the other's decision
    if agent != s.actor and s.phase == BENDT_2:
        s.first_discard = rng_bounded(rng, s.hand_len[s.actor])
    if s.phase == BID or s.phase == CANNON:
        draw_secrets(s, r, tb, agent, rng)
    look_again(s, tb)
    s.deal_seed = rng_next(rng) if r.duplicate_deals else 0
    for i in range(4):
        s.rng[i] = rng_next(rng)
    for i in range(4):
        given[i] = rng[i]
