"""What becomes of columns: one file a kind."""
