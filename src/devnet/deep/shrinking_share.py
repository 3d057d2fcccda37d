"""The share of the highest scores that count, while a network starts to learn."""

SHRINKING = 0.5  # share of the training steps in which fewer and fewer scores count


class ShrinkingShare:
    """Shrinks from 1 to `share` in the first half of training, and stays there.

    Only the highest scores are pushed up or down, and at first these are anywhere. So all of them
    count at first.
    """

    def __init__(self, share: float) -> None:
        self.share = share
        self._n_steps = self._n_done = 0

    def start(self, n_steps: int) -> None:
        """Begin training of this many steps."""
        self._n_steps, self._n_done = round(SHRINKING * n_steps), 0

    def next(self, *, is_training: bool) -> float:
        """The share of the next step."""
        if not is_training or self._n_done >= self._n_steps:
            return self.share
        self._n_done += 1
        return float(self.share ** (self._n_done / self._n_steps))
