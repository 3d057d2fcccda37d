"""Numbers and dates as people write them: how the texts of a column are read."""
