"""Facts as pages: self-contained HTML."""
