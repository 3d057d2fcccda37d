"""Images: training at MNIST's size with the paper's steps, scoring, and memory of files.

`python benchmarks/images.py` measures everything; a section's name measures that one only.
"""

import resource
import tempfile
import time
from pathlib import Path

import numpy as np
import sections
from sections import Effort

from devnet import ImageDevNet

SIDE = 28
N_LABELLED = 30


def blobs(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Noise like images, which take as long as any."""
    images = np.random.default_rng(0).integers(256, size=(n, SIDE, SIDE), dtype=np.uint8)
    images[:N_LABELLED, 10:18, 10:18] = 255
    return images, (np.arange(n) < N_LABELLED).astype(int)


def training(effort: Effort) -> None:
    images, y = blobs(effort.rows(60_000))
    steps = {"n_epochs": 1, "n_batches": 2} if effort.is_quick else {}
    for head in ("global", "patches"):
        model = ImageDevNet(head=head, batch_size=512, random_state=0, **steps)
        start = time.perf_counter()
        model.fit(images, y)
        seconds = time.perf_counter() - start
        n_steps = model.n_epochs * model.n_batches
        print(f"{head}: {n_steps:,} steps of 512 of {len(images):,} images, {seconds:.0f} s")


def scoring(effort: Effort) -> None:
    images, y = blobs(effort.rows(10_000))
    for head in ("global", "patches"):
        model = ImageDevNet(head=head, n_epochs=1, n_batches=2, random_state=0).fit(images, y)
        start = time.perf_counter()
        model.anomaly_score(images)
        print(f"{head}: {len(images):,} images scored in {time.perf_counter() - start:.1f} s")


def memory_of_files(effort: Effort) -> None:
    from PIL import Image

    n = 20 if effort.is_quick else 500
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / f"{number}.png" for number in range(n)]
        noise = np.random.default_rng(0).integers(256, size=(1024, 1024), dtype=np.uint8)
        for path in paths:
            Image.fromarray(np.roll(noise, len(path.name))).save(path, compress_level=1)
        model = ImageDevNet(n_epochs=1, n_batches=2, batch_size=8, size=(256, 256), random_state=0)
        model.fit(paths, np.arange(n) < N_LABELLED // 6)
        model.anomaly_score(paths)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{n} files of {n} MB in all: fit and scores with a peak of {peak:,.0f} MB")


SECTIONS = [training, scoring, memory_of_files]

if __name__ == "__main__":
    sections.run(__file__, SECTIONS, __doc__)
