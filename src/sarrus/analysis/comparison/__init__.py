"""`compare`: one motion by several formulations, side by side."""
