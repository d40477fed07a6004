"""Task formulations: operational space, and orthogonalization of tasks (De Sapio and Park 2010)."""
