"""How people call the rows of a table, and how a page tells that a row is still the same."""

from collections.abc import Collection
from hashlib import blake2b

from devnet.core.wording import cut, visible
from devnet.review.desk.verdicts import DeskError
from devnet.review.row_keys import RowKeys

LONGEST_NUMBER = 16  # digits of a row's number


class RowNames:
    """The names of a table's rows."""

    def __init__(self, keys: RowKeys) -> None:
        self._keys = keys

    def find(self, text: str) -> int:
        """The number of the row with an id, or of "row 17"; raises a DeskError."""
        text = text.strip()
        found = int(self._keys.find([text])[0])
        number = text.lower().removeprefix("row").strip().replace(",", "")
        if found < 0 and number.isdecimal() and len(number) < LONGEST_NUMBER:
            found = int(number) if int(number) < self._keys.n_rows else found
        if found < 0:
            by = self._keys.table.id_column
            what = "its number, such as row 17" if by is None else f"its {by}, or its row number"
            raise DeskError(f"there is no row {cut(visible(text))!r}; give {what}.")
        return found

    def gone(self, keys: Collection[str]) -> set[str]:
        """Which of these keys the table does not have."""
        return {key for key, row in zip(keys, self._keys.find([*keys]), strict=True) if row < 0}

    def name(self, key: str) -> str:
        """A row as cards call it: by its id, or by its number if it has none."""
        number = -1 if self._keys.table.id_column is not None else int(self._keys.find([key])[0])
        return key if number < 0 else f"row {number}"

    def mark(self, row: int) -> str:
        """What tells a row from one with the same number in another table."""
        return _mark(self._keys.of([row])[0])

    def key(self, row: int, mark: str) -> str:
        """The key of a row, if it is the one that somebody saw."""
        self.refuse_unknown(row)
        (key,) = self._keys.of([row])
        if _mark(key) != mark:
            raise DeskError(
                "the row that you judged is not in this table any more, so nothing was recorded. "
                "Open the queue again; if the table was replaced by mistake, put it back."
            )
        return key

    def refuse_unknown(self, row: int) -> None:
        """Raise a DeskError if the table does not have a row."""
        if not 0 <= row < self._keys.n_rows:
            raise DeskError(
                f"there is no row {row:,}: {self._keys.table.name} has {self._keys.n_rows:,} rows. "
                "Nothing was recorded."
            )


def _mark(key: str) -> str:
    return blake2b(key.encode(), digest_size=8).hexdigest()
