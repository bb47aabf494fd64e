"""Whether nested values are the same, to the bit."""

import torch


def equal(ours, theirs):
    """Whether nested dicts and lists hold the same tensors, of the same bytes, and values."""
    if isinstance(ours, torch.Tensor):
        alike = (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        return alike and torch.equal(_bytes(ours), _bytes(theirs))
    if isinstance(ours, dict):
        return ours.keys() == theirs.keys() and all(equal(ours[k], theirs[k]) for k in ours)
    if isinstance(ours, list | tuple):
        return len(ours) == len(theirs) and all(map(equal, ours, theirs))
    return ours == theirs


def _bytes(tensor):
    """Return them: unequal zeros and equal numbers that are none count as what they are."""
    return tensor.detach().cpu().contiguous().view(-1).view(torch.uint8)
