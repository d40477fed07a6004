"""The compiled equations of a system (`Model`), their evaluation, units and tolerances."""
