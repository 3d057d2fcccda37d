"""How much one request may ask for, and all of them together."""

from dataclasses import dataclass

from devnet.core.parameters import check_parameters, number, whole_number

MEGABYTE = 1_000_000


@dataclass(frozen=True)
class Limits:
    """Bounds of what the service takes.

    Parameters
    ----------
    megabytes : float, default=16
        Of a body, and of what an Arrow stream unpacks to, fourfold.
    seconds : float, default=30
        In which a body must arrive, and in which it must be answered.
    n_rows : int, default=65536
        Of a request.
    n_reasons_rows : int, default=256
        Of a request that asks for reasons, each of which takes many times as long as a score.
    n_waiting : int, default=256
        Requests that wait or are worked on at once.
    """

    megabytes: float = 16.0
    seconds: float = 30.0
    n_rows: int = 1 << 16
    n_reasons_rows: int = 256
    n_waiting: int = 256

    def __post_init__(self) -> None:
        check_parameters(
            self,
            {
                "megabytes": number(0),
                "seconds": number(0),
                "n_rows": whole_number(1),
                "n_reasons_rows": whole_number(1),
                "n_waiting": whole_number(1),
            },
        )

    @property
    def n_bytes(self) -> int:
        """Of a body."""
        return int(self.megabytes * MEGABYTE)

    @property
    def n_unpacked(self) -> int:
        """Bytes that an Arrow stream may unpack to."""
        return 4 * self.n_bytes

    @property
    def n_bytes_together(self) -> int:
        """Of the bodies of all requests at once."""
        return 8 * self.n_bytes
