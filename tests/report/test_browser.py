"""The pages in a real browser, without a window."""

import html
import json
import re
import subprocess

import numpy as np
import pytest
from click.testing import CliRunner
from support.chromium import chromium_path

from devnet.cli.main import main

MEASURE = """<script>
const sticking_out = [...document.querySelectorAll("body *")].filter(
  e => e.getBoundingClientRect().right > innerWidth + 1 && !e.closest(".scroll, svg"));
parent.document.title = JSON.stringify({
  window: innerWidth,
  page: document.documentElement.scrollWidth,
  paper: getComputedStyle(document.body).backgroundColor,
  ink: getComputedStyle(document.body).color,
  sticking_out: sticking_out.slice(0, 3).map(e => e.outerHTML.slice(0, 80)),
  pictures: [...document.querySelectorAll("svg")].map(e => e.getBoundingClientRect().height),
  text: document.body.innerText.length,
});
</script>"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The pages that the verbs write, of a small table."""
    folder = tmp_path_factory.mktemp("pages")
    generator = np.random.default_rng(0)
    amount = generator.lognormal(3, 1, 1500)
    is_fraud = amount > np.quantile(amount, 0.97)
    shop = np.where(is_fraud, "<casino> & bar", generator.choice(["baker", "grocer"], 1500))
    rows = zip(amount, shop, is_fraud.astype(int), strict=True)
    table = folder / "t.csv"
    table.write_text("amount,shop,fraud\n" + "".join(f"{a:.2f},{s},{f}\n" for a, s, f in rows))
    fit, compare = folder / "fit.html", folder / "compare.html"
    for words in (
        ["fit", table, "--label", "fraud", "-o", folder / "m.devnet", "--report", fit],
        ["compare", table, "--label", "fraud", "--method", "deviation ensemble"]
        + ["--method", "PU trees", "--repeats", "1", "--report", compare],
    ):
        done = CliRunner().invoke(main, [str(word) for word in words])
        assert done.exit_code == 0, done.output
    return {"fit": fit.read_text(), "compare": compare.read_text()}


def look(page, folder, width, *options, script=MEASURE):
    """What a page measures of itself in a frame of this width."""
    frame = folder / "frame.html"
    inside = html.escape(page + script, quote=True)
    frame.write_text(f'<iframe width="{width}" height="900" srcdoc="{inside}"></iframe>')
    command = [chromium_path(), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]
    command += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
    command += [f"--user-data-dir={folder / 'profile'}", "--window-size=1400,1000", *options]
    done = subprocess.run(
        [*command, "--dump-dom", frame.as_uri()],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return json.loads(html.unescape(re.search(r"<title>(.*?)</title>", done.stdout, re.S).group(1)))


TRY = """<script>
const tools = document.querySelector(".tools");
const shown = () => [...document.querySelectorAll(".alert .head strong")].map(e => e.textContent);
const set = (name, value) => {
  tools.elements[name].value = value;
  tools.dispatchEvent(new Event("input", {bubbles: true}));
};
const found = {hidden: tools.hidden, all: shown()};
found.columns = [...tools.elements.column.options].map(e => e.text);
set("sort", "=amount");
found.amounts = [...document.querySelectorAll(".alert")].map(
  e => Number([...e.querySelectorAll("dt")].find(t => t.textContent === "amount")
    .nextElementSibling.textContent));
set("sort", "");
set("search", "CASINO");
found.casinos = shown();
set("search", "no such thing");
found.none = [shown().length, tools.querySelector("output").textContent];
set("search", "");
set("column", "=amount");
found.by_reason = shown();
found.inside = [...document.querySelectorAll(".values")].map(e => e.open);
parent.document.title = JSON.stringify(found);
</script>"""


def test_alerts_are_sorted_and_filtered_without_a_server(pages, tmp_path):
    found = look(pages["fit"], tmp_path, 900, script=TRY)
    assert found["hidden"] is False
    assert len(found["all"]) == 20
    assert found["columns"][0] == "any column"
    assert "amount" in found["columns"]
    assert found["amounts"] == sorted(found["amounts"], reverse=True)
    assert len(found["amounts"]) == 20
    assert set(found["casinos"]) <= set(found["all"])
    assert found["none"] == [0, "0 of 20 rows"]
    assert 0 < len(found["by_reason"]) <= 20
    assert not any(found["inside"])


@pytest.mark.parametrize("name", ["fit", "compare"])
@pytest.mark.parametrize("width", [360, 1200])
def test_a_page_fits_a_phone_and_a_screen(pages, tmp_path, name, width):
    found = look(pages[name], tmp_path, width)
    assert found["window"] == width
    assert found["page"] <= width
    assert found["sticking_out"] == []
    assert found["text"] > 500
    assert found["pictures"]
    assert min(found["pictures"]) > 0


@pytest.mark.parametrize("name", ["fit", "compare"])
def test_a_page_is_dark_where_the_reader_wants_it(pages, tmp_path, name):
    light = look(pages[name], tmp_path, 800)
    dark = look(pages[name], tmp_path, 800, "--blink-settings=preferredColorScheme=0")
    assert light["paper"] == "rgb(255, 255, 255)"
    assert dark["paper"] != light["paper"]
    assert dark["ink"] != light["ink"]
