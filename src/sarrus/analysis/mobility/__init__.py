"""Rank, redundancy and degrees of freedom; mechanisms with the same motion and fewer rows."""
