"""The paper, one idea per file: from balanced batches to trained networks; and forests."""
