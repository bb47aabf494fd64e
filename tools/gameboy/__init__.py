"""Programs around the Game Boy: its speed, its agreement with PyBoy, and test ROMs."""
