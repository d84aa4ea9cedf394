"""Probes: running slices of the value graph in torch, in a separate process, to break what the ranges could not prove safe."""
