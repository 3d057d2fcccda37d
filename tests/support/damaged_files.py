"""Files that look whole until a certain row is read."""

import pyarrow.parquet as pq


def damage_a_page(path, group=3, column=2):
    """Overwrite the beginning of a page of a Parquet file."""
    start = pq.read_metadata(path).row_group(group).column(column).data_page_offset
    content = bytearray(path.read_bytes())
    content[start : start + 12] = b"\xff" * 12
    path.write_bytes(content)
