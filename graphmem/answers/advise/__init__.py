"""What lowers the peak of a step: changes that were tried, each by a new analysis."""
