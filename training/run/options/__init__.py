"""The sections of a run's config, one module each."""
