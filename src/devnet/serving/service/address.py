"""Where the service listens."""

from dataclasses import dataclass
from pathlib import Path
from typing import final

from devnet.review.server.line import LOCAL, check_protection

PORT = 8766  # next to that of the analysts' page


@final
@dataclass(frozen=True)
class Address:
    """Where the service listens, and how it is protected there.

    It needs no names, as browsers are not its clients: whoever has the token may ask.

    Parameters
    ----------
    host, port : str and int
    certificate, key : Path, optional
    proxy : str, optional
        Address of the proxy in front of the service. Nobody else is answered.
    """

    host: str = LOCAL
    port: int = PORT
    certificate: Path | None = None
    key: Path | None = None
    proxy: str | None = None

    def __post_init__(self) -> None:
        check_protection(self, f"Without them it listens on {LOCAL} only.")

    def __str__(self) -> str:
        scheme = "http" if self.certificate is None else "https"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{scheme}://{host}:{self.port}"
