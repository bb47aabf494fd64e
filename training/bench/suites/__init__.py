"""The suites: each lists rows and targets, and what it does is in no other."""
