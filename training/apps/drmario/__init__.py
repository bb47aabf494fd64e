"""Dr. Mario: its evaluation, best times, seeds, evaluator, reader and viewer."""
