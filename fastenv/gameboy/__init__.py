"""Game Boy: a batched emulator of the monochrome machine, and programs of our own for it."""
