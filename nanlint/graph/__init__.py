"""The value graph: operations and their operands. Knows nothing of what an op means."""
