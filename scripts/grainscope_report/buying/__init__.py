"""The buying decision: a workload as shares of components, candidates as result files, and a verdict."""
