"""Results of many nodes, or of one machine over time, as a data set: digests in, Parquet, answers out."""
