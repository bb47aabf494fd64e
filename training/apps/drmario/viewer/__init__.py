"""The viewer of Dr. Mario in the terminal (docs/howto/train_drmario.md).

``sources`` says who plays what, ``playback`` plays it at a speed, ``panels`` writes what there is
to know about it, and ``app`` shows it all with Textual.
"""
