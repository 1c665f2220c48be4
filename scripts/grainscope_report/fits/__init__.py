"""What the rows of a run come to: latencies, bandwidths, crossovers, walls, and how well each fits."""
