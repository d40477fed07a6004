"""SDF, whose joints are a graph, to a `Mechanism`."""
