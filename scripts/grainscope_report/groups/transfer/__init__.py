"""Copies and kernels that move bytes over a link: their figures, lines, and which way is fastest."""
