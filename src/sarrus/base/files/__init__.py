"""Files: written whole or not at all (`atomic`), with a checksum (`seals`), as NetCDF (`netcdf`)."""
