"""Graph traversals by every access, those that move fewer bytes, and the model of both."""
