"""Laws with contact forces: `ContactLaw`, `LeggedController`, gaits, footholds, capture steps."""
