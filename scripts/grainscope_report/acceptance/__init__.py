"""Accepting a machine: rules as data, what a run says of each, and JUnit and JSON of it."""
