"""A table cut anywhere, its parts read by themselves, and the results merged in any order."""

import pickle

from devnet.tables.sources.parts import Part
from devnet.tables.sources.source import Source


class RowRange(Source):
    """Some rows of another source, in batches of their own."""

    def __init__(self, source, start, stop, step):
        self.name, self.schema, self.n_rows = source.name, source.schema, stop - start
        self._source, self._start, self._stop, self._step = source, start, stop, step

    def _pieces(self, columns):
        done = 0
        for batch in self._source.batches(columns):
            inside = batch.slice(max(0, self._start - done))
            inside = inside.slice(0, max(0, self._stop - max(done, self._start)))
            done += len(batch)
            for at in range(0, len(inside), self._step):
                yield inside.slice(at, self._step)


def sent(value):
    """What arrives at another process."""
    return pickle.loads(pickle.dumps(value))


def cut_anywhere(rng):
    """A way to spread a table: parts of any length, read and merged in any order."""

    def spread(read, merge, parts):
        pieces = list(parts)
        if isinstance(parts[0], Part):  # not if rows are only counted
            cut = [piece for part in parts for piece in _cut(rng, part)]
            pieces = [piece._replace(number=i) for i, piece in enumerate(cut)]
        rng.shuffle(pieces)
        results = [sent(sent(read)(piece)) for piece in pieces]
        while len(results) > 1:
            one, other = (results.pop(rng.randrange(len(results))) for _ in range(2))
            results.append(sent(merge)(one, other))
        return results[0]

    return spread


def _cut(rng, part):
    """Parts of a part, some without rows."""
    n_rows = part.source.count_rows()
    inner = sorted(rng.choices(range(n_rows + 1), k=rng.randrange(7)))
    ends = [0, *inner, n_rows]
    return [
        Part(0, part.first + start, RowRange(part.source, start, stop, rng.choice([7, 40, 10**6])))
        for start, stop in zip(ends[:-1], ends[1:], strict=True)
    ]
