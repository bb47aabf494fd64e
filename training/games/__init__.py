"""One folder a game: a record for each of its environments, its presets and small capabilities."""
