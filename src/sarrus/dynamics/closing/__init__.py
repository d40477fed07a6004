"""Closed configurations: assembly, the manifold with its branches, rigid ones, joint limits."""
