"""What goes along with a run: windows, trackers, curriculum and its gate."""
