FRAMES: dict[int, object]
