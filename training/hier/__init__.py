"""A Manager that bids and a Worker that plays the cards, trained in turns (training spec 8)."""
