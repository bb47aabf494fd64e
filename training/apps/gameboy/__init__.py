"""The Game Boy: its evaluation, and who plays Lantern Walk by heart."""
