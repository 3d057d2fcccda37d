"""Take the pictures of the analysts' page that the documentation shows, in light and in dark.

Needs Chromium (`make browser`) and the folder of `devnet demo`: its table and its model.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PICTURES = Path(__file__).parents[1] / "pictures"
SIZE = {"width": 1200, "height": 1000}
SCHEMES = {"light": "review.png", "dark": "review_dark.png"}


@contextmanager
def review_page(demo: Path, store: Path) -> Iterator[str]:
    """The address of the page while it is served."""
    words = ["review", demo / "payments.parquet", "--model", demo / "fraud.devnet"]
    words += ["--store", store, "--id", "payment_id", "--entity", "customer_id"]
    command = [sys.executable, "-m", "devnet.cli", *map(str, words), "--port", "0", "--json"]
    environment = {**os.environ, "LOGNAME": "ana"}  # whom the page shows
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        yield json.loads("".join(iter(server.stdout.readline, "}\n")) + "}")["address"]
        server.terminate()


def take(demo: Path) -> None:
    """Write both pictures."""
    from playwright.sync_api import sync_playwright

    with (
        tempfile.TemporaryDirectory() as folder,
        review_page(demo, Path(folder, "review.db")) as address,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport=SIZE)
        page.goto(address, timeout=120_000)
        for scheme, name in SCHEMES.items():
            page.emulate_media(color_scheme=scheme)
            page.screenshot(path=PICTURES / name)
        browser.close()


if __name__ == "__main__":
    take(Path(sys.argv[1] if len(sys.argv) > 1 else "devnet-demo"))
