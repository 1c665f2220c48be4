"""Rows of graph neural networks as answers: gathers, tiers, shares of a GPU, training pipelines."""
