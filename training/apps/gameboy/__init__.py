"""The Game Boy: its evaluation, and a scripted player of Lantern Walk."""
