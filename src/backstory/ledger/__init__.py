"""What the calls of sessions cost: model names, prices, and the sums of both."""
