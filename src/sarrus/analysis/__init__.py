"""Analyses of a system at one configuration: assembly and rank."""
