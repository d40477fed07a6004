"""SDF, whose joints form a graph, to a `Mechanism`."""
