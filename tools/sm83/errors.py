"""What is wrong with a source, and where."""


class AssemblyError(ValueError):
    """A source cannot be assembled; the message names file, line and what is allowed."""
