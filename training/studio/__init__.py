"""The studio: games in a browser, to be played, watched, stepped back and branched.

One process, a worker thread and a websocket a session; ``docs/reference/studio.md`` has the
messages.
"""
