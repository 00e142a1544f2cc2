"""What each op does to memory: views, forwarding, in-place updates, scratch, placement."""
