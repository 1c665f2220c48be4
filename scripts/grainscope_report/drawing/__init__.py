"""Draws figures that are data with matplotlib; nothing else in the package imports it."""

import os

# Figures are saved and never shown: the backend that a notebook names need not be there.
os.environ["MPLBACKEND"] = "agg"
