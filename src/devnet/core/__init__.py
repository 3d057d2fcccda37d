"""What every room needs: rows, labels, parameters, seeds, names, sentences, wording, files."""
