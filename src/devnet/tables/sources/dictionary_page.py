"""The longest text of a Parquet dictionary, without making a dictionary of it.

In the page, each text follows its length, which takes four bytes. Texts shorter than 256 bytes,
without zero bytes in them, are told by the three zeros before each.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from devnet.tables.sources.page_header import PageHeader

CODECS = {"SNAPPY": "snappy", "ZSTD": "zstd", "GZIP": "gzip", "BROTLI": "brotli"}
MOST_BYTES = 1 << 24  # of a page that is looked at


def longest_short_text(
    file: Any, position: int, header: PageHeader, compression: str
) -> int | None:
    """Bytes of the longest text in the page at a position; None if some may have 256 or more."""
    packed = file.read_at(header.packed, position + header.length)
    if header.unpacked > MOST_BYTES or compression not in (*CODECS, "UNCOMPRESSED"):
        return None
    try:
        page = (
            packed
            if compression == "UNCOMPRESSED"
            else pa.decompress(packed, header.unpacked, CODECS[compression], asbytes=True)
        )
    except (pa.ArrowException, OSError):
        return None
    return longest(np.frombuffer(page, np.uint8))


def longest(page: np.ndarray) -> int | None:
    """The longest text of a page of bytes (n,), if the lengths found in it fill it exactly."""
    is_zero = page == 0
    starts = np.flatnonzero(is_zero[1:-2] & is_zero[2:-1] & is_zero[3:])
    if not len(starts) or starts[0]:
        return None
    lengths = page[starts]
    is_filled = np.array_equal(starts + 4 + lengths, np.append(starts[1:], len(page)))
    return int(lengths.max()) if is_filled else None
