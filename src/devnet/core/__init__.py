"""What every room needs: rows, labels, parameters, seeds, names, wording, files."""
