"""Out of the house: systems as CasADi functions and C99 code, mechanisms as MJCF."""
