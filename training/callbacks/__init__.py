"""Callbacks of a run: windows, trackers, curriculum and its gate."""
