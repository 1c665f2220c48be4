"""Traversals of graphs: their rows as runs, what is faster than what, and what a run's answers come to."""
