"""Source text: discovery, lifting to value graphs, suppressions, edits. Knows neither torch nor probes."""
