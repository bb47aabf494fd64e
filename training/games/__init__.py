"""One module a game: what training has to know of it."""
