"""Graph neural networks: sampling, tiers of a feature table, and pipelines that train."""
