"""Where the server listens, and under which names browsers know it."""

from dataclasses import dataclass
from pathlib import Path

from devnet.core.sentence import Setting, UserError
from devnet.review.server.line import LOCAL, check_protection

ANYWHERE = ("0.0.0.0", "::")
DEFAULT_PORTS = {"http": 80, "https": 443}


@dataclass(frozen=True)
class Listening:
    """Where the server listens, and how it is protected there.

    On 127.0.0.1 alone it is for the person who started it. Anywhere else it has accounts, and
    either a certificate or a proxy in front of it that has one.

    Parameters
    ----------
    host, port : str and int
    names : tuple of str
        Names that browsers know the server by, if that is not `host`; behind a proxy on another
        port than 443 each with its port.
    certificate, key : Path, optional
    proxy : str, optional
        Address of the proxy in front of the server. Nobody else is answered.
    """

    host: str = LOCAL
    port: int = 8765
    names: tuple[str, ...] = ()
    certificate: Path | None = None
    key: Path | None = None
    proxy: str | None = None

    def __post_init__(self) -> None:
        check_protection(self, f"Without accounts and certificate it is for yourself, on {LOCAL}.")
        if not (self.names or self.host not in ANYWHERE):
            raise UserError(
                f"the host {self.host} stands for every address of this machine; say by which name "
                "browsers know it: ",
                Setting("names", ["review.example.com"]),
            )

    @property
    def is_local(self) -> bool:
        """Whether only the person who started the server can reach it."""
        return self.host == LOCAL and self.certificate is None and self.proxy is None

    @property
    def scheme(self) -> str:
        """Of the addresses that browsers show."""
        return "http" if self.is_local else "https"

    @property
    def hosts(self) -> frozenset[str]:
        """The Host headers that are answered; anything else may be a foreign name for us."""
        given = self.names or ((LOCAL, "localhost") if self.host == LOCAL else (self.host,))
        names = [name.lower() for name in given]  # as browsers send them
        if self.proxy is not None:
            return frozenset(map(_bracketed, names))
        found = {f"{_bracketed(name)}:{self.port}" for name in names}
        if self.port == DEFAULT_PORTS[self.scheme]:
            found |= {*map(_bracketed, names)}
        return frozenset(found)

    @property
    def origins(self) -> frozenset[str]:
        """The Origin headers that writes are taken from."""
        return frozenset(f"{self.scheme}://{host}" for host in self.hosts)

    @property
    def cookie(self) -> str:
        """Its name: cookies of one host are shared by all its ports."""
        return f"{'' if self.is_local else '__Host-'}devnet-review-{self.port}"

    @property
    def address(self) -> str:
        """The page's address."""
        host = min(self.hosts, key=lambda one: (one.startswith("localhost"), one))
        return f"{self.scheme}://{host}/"


def _bracketed(name: str) -> str:
    """An IPv6 address as in a URL."""
    return f"[{name}]" if name.count(":") > 1 and not name.startswith("[") else name
