"""Files: whole or not at all (`whole`), sealed where numbers are read again (`seals`), as NetCDF (`netcdf`)."""
