"""Words of the domain: spans, findings, float formats, errors. Imports nothing else of nanlint."""
