"""Files: whole or not at all (`atomic`), sealed where numbers are read again (`seals`), as NetCDF (`netcdf`)."""
