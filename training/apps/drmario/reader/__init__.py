"""From pixels to state: a camera's frames of Dr. Mario, and a network that reads them."""
