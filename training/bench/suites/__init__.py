"""The suites, each with its rows and targets."""
