"""Contacts, stops and dry friction at a state: their modes, rows and forces."""
