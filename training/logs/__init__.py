"""What a run says and how it is drawn: JSON lines, TensorBoard, W&B, dashboard, plots."""
