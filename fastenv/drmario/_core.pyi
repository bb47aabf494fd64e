FRAMES: dict[int, object]
PLACEMENTS: dict[int, object]
