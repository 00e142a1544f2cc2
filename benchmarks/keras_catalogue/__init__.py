"""Everything of Keras that makes ops: entries to trace, one file for each catalogue."""
