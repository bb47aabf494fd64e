"""One run from start to end: its options, folder, engines, seeds, checkpoints, and the loop."""
