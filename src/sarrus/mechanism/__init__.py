"""The description of mechanisms: builder, importers, exporter and import report."""
