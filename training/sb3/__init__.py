"""The stock trainer: unmodified ``sb3_contrib.MaskablePPO`` on the batch engine."""
