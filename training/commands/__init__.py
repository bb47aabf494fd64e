"""Further parts of commands, such as ``python -m training watch replay``; see ``__main__``."""
