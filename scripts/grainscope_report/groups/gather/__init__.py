"""Rows gathered at random, by every way and on a share of the multiprocessors."""
