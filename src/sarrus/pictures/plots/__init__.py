"""Pictures of results with Matplotlib: histories, strobe drawings, maps, animations."""
