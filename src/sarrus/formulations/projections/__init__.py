"""Projection formulations: one square matrix to invert, of any rank of A (Aghili 2005)."""
