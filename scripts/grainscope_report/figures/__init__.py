"""The figures as data: what is in each, computed from results, without a word of matplotlib."""
