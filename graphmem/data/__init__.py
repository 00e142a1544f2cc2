"""Tables that come with graphmem."""
