"""Parquet files that cannot be read as they are."""

import base64
import datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from devnet.tables import TableError, open_table

encryption = pytest.importorskip("pyarrow.parquet.encryption")
KEYS = {"footer": "0123456789012345", "column": "1234567890123450"}


class _Keys(encryption.KmsClient):
    """Keys that everyone may know."""

    def __init__(self, config):
        super().__init__()

    def wrap_key(self, key_bytes, master_key_identifier):
        return base64.b64encode(KEYS[master_key_identifier].encode() + key_bytes)

    def unwrap_key(self, wrapped_key, master_key_identifier):
        return base64.b64decode(wrapped_key)[len(KEYS[master_key_identifier]) :]


def write_encrypted(table, path, **options):
    factory = encryption.CryptoFactory(_Keys)
    config = encryption.EncryptionConfiguration(
        footer_key="footer", cache_lifetime=datetime.timedelta(minutes=1), **options
    )
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), config)
    with pq.ParquetWriter(path, table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)


@pytest.mark.parametrize("name", ["t.parquet", "by_content"])
@pytest.mark.parametrize(
    "options",
    [
        {"column_keys": {"column": ["amount"]}},
        {"column_keys": {"column": ["amount"]}, "plaintext_footer": True},
        pytest.param(
            {"uniform_encryption": True},
            marks=pytest.mark.skipif(
                not hasattr(encryption.EncryptionConfiguration, "uniform_encryption"),
                reason="this version of Arrow does not write such files",
            ),
        ),
    ],
    ids=["all", "one column", "one key"],
)
def test_an_encrypted_file_is_to_be_decrypted(name, options, tmp_path):
    write_encrypted(
        pa.table({"shop": ["a", "b"], "amount": [1.0, 2.0]}), tmp_path / name, **options
    )
    with pytest.raises(TableError, match=f"{name} is encrypted, or some .* are; decrypt it first"):
        open_table(tmp_path / name)
