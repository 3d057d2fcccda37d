"""A one-line progress bar on standard error, for training that a person watches."""

import sys

WIDTH = 30  # characters of the bar


class EpochBar:
    """Shows epoch, bar and loss; silent where standard error is not a terminal."""

    def __init__(self, label: str, n_epochs: int) -> None:
        self._label = label
        self._n_epochs = n_epochs
        self._is_shown = sys.stderr.isatty()

    def show(self, epoch: int, loss: float) -> None:
        """Redraw the line."""
        if self._is_shown:
            filled = WIDTH * epoch // self._n_epochs
            bar = "━" * filled + "╌" * (WIDTH - filled)
            sys.stderr.write(
                f"\r{self._label} {bar} epoch {epoch}/{self._n_epochs}  loss {loss:.4f}"
            )
            sys.stderr.flush()

    def close(self) -> None:
        """End the line."""
        if self._is_shown:
            sys.stderr.write("\n")
