"""Generators of files that are committed; tests compare them with what would be written."""
