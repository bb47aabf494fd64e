"""The estimates of one position in plain Python: what ``training/search/estimates.py`` must say."""

import math

DOUBT, MIN_WORLDS = 4.0, 8


def mean(values):
    return sum(values) / len(values)


def standard_error(values):
    if len(values) < 2:
        return math.nan
    middle = mean(values)
    return math.sqrt(sum((x - middle) ** 2 for x in values) / (len(values) - 1) / len(values))


class Position:
    """Actions in worlds; a list of ``(world, value)`` an action, worlds counted over all blocks.

    ``own`` is the action that halving keeps, if there is one.
    """

    def __init__(self, legal, own=None):
        self.own = own
        self.open = [bool(each) for each in legal]
        self.first = sum(self.open)
        self.seen = [{} for _ in legal]
        self.worlds = 0

    def note(self, values, fresh):
        """Take in ``fresh`` new worlds: values by (action, number of the world among them)."""
        for (action, world), value in values.items():
            self.seen[action][self.worlds + world] = value
        self.worlds += fresh

    def means(self):
        return [mean(list(s.values())) if s else -math.inf for s in self.seen]

    def errors(self):
        return [standard_error(list(s.values())) for s in self.seen]

    def best(self):
        means = [m if o else -math.inf for m, o in zip(self.means(), self.open, strict=True)]
        return means.index(max(means))

    def behind(self, action):
        """Return by how much each action is behind one in the worlds that both have seen."""
        found = []
        for seen in self.seen:
            apart = [self.seen[action][w] - x for w, x in seen.items() if w in self.seen[action]]
            found.append((mean(apart) if apart else math.nan, standard_error(apart)))
        return found

    def drop(self, spent, halving):
        if sum(self.open) < 2:
            return
        for action, (apart, error) in enumerate(self.behind(self.best())):
            if len(self.seen[action]) >= MIN_WORLDS and apart > DOUBT * error:
                self.open[action] = False
        if halving:
            stay = max(2, math.ceil(self.first ** (1 - min(spent, 1.0))))
            means = self.means()
            ranked = sorted((a for a, o in enumerate(self.open) if o), key=lambda a: -means[a])
            for action in ranked[stay:]:
                self.open[action] = action == self.own
