"""Translations of the batch engine for other libraries; each imports its library itself."""
