"""Whether nested values are the same, to the bit."""

import torch


def equal(ours, theirs):
    """Whether nested dicts and lists hold the same tensors and values."""
    if isinstance(ours, torch.Tensor):
        return torch.equal(ours, theirs)
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(equal(ours[k], theirs[k]) for k in ours)
    if isinstance(ours, list | tuple):
        return len(ours) == len(theirs) and all(map(equal, ours, theirs))
    return ours == theirs
