"""From what the user names to a step that can be traced; nothing of it trains."""
