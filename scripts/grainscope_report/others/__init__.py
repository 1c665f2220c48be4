"""Results of other tools beside those of a run."""
