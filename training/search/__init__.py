"""Search on rows: agents that look at what may follow before they decide."""
