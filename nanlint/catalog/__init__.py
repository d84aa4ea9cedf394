"""The catalogue: rule files, their templates, and matching them on value graphs. Knows nothing of where a graph came from."""
