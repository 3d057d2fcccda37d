"""The paper, one idea a file: from balanced batches to trained networks; and forests."""
