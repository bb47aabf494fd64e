"""Logs of runs and their pictures: JSON lines, TensorBoard, W&B, dashboard, plots."""
