"""What is particular to one group of families each: its figures, its fits, its answers."""
