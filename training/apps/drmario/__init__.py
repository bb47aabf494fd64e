"""Dr. Mario: its evaluation, best times, seeds, evaluator, and reader."""
