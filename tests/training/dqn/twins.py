"""Slow and obvious versions of what the DQN trainer stores and computes."""


def window(decisions, n):
    """Reward, discount and length of the window that begins with the first of some decisions.

    ``decisions`` are (reward, discount, end) in the order of time, of one lane.
    """
    total, reach, length = 0.0, 1.0, 0
    for reward, discount, end in list(decisions)[:n]:
        total += reach * reward
        reach *= discount
        length += 1
        if end:
            break
    return total, (0.0 if end == 1 else reach), length


class ListReplay:
    """Everything that ever happened in the lanes, one dict a decision, in lists."""

    def __init__(self, lanes, n_step):
        self.n_step = n_step
        self.lanes = [[] for _ in range(lanes)]

    def store(self, lane, **decision):
        self.lanes[lane].append(decision)

    def sample(self, lane, time):
        """What a sample of that decision has to be."""
        here = self.lanes[lane][time:]
        total, discount, length = window(
            [(d["reward"], d["discount"], d["end"]) for d in here], self.n_step
        )
        last = here[length - 1]
        cut = last["end"] == 2
        return {
            "obs": here[0]["obs"],
            "action": here[0]["action"],
            "reward": total,
            "discount": discount,
            "next_obs": last["final"] if cut else last["next_obs"],
            "next_mask": last["mask"] if cut else last["next_mask"],
        }


def quantile_huber(theta, target, kappa):
    """The loss of one decision, summed over its quantiles and averaged over the target's."""
    total = 0.0
    for i, quantile in enumerate(theta):
        level = (2 * i + 1) / (2 * len(theta))
        for value in target:
            u = value - quantile
            huber = 0.5 * u * u if abs(u) <= kappa else kappa * (abs(u) - 0.5 * kappa)
            total += abs(level - float(u < 0)) * huber / kappa / len(target)
    return total


def masked_argmax(values, mask):
    """The legal action of the largest value; the first one of equals."""
    legal = [a for a in range(len(values)) if mask[a]]
    return max(legal, key=lambda a: values[a])


def proportional(priorities, count, rng):
    """Rows drawn one by one in proportion to priorities."""
    return rng.choice(len(priorities), size=count, p=priorities / priorities.sum())
