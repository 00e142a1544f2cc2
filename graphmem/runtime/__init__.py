"""What a runtime does with a step: order, lifetimes, timeline."""
