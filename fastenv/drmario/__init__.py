"""Dr. Mario: docs/drmario.md is its rule book."""
