"""Runs from event to event: modes of contacts, stops and dry friction, and impacts between them."""
