"""Checks of what a machine can judge of pages, records and layout; none of them is a test."""
