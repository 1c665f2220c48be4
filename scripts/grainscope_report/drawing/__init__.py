"""Draws figures that are data with matplotlib; nothing else in the package imports it."""
