"""Contacts at a state in exported C, where no Python chooses: flanks, slips at dead centres, forces that support."""
