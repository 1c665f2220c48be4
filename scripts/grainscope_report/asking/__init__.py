"""Questions in words: what they ask for, and what a run answers."""
