"""What a run comes to: fits, answers and the shape of its curves, from the findings of the groups."""
