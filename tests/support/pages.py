"""Whether a page is whole: its tags closed, nothing of it foreign."""

import re
from html.parser import HTMLParser
from importlib.resources import files
from xml.etree import ElementTree

SCRIPT = (files("devnet.report") / "templates" / "fit.js").read_text().rstrip()
NASTY = "<script>alert('x')</script> & \"more\""


class Tags(HTMLParser):
    """Sees that every element is closed where it should be."""

    VOID = ("meta", "br", "link", "img", "hr", "input", "circle", "line", "polyline", "polygon")

    def __init__(self, text):
        super().__init__()
        self.open, self.addresses = [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.addresses += [v for name, v in attributes if name in ("src", "href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


def check(page):
    """Well-formed, whole without any other file or foreign script, small."""
    page = page.replace(f"<script>\n{SCRIPT}</script>", "")
    tags = Tags(page.replace("<rect", "<svg").replace("</rect", "</svg"))
    assert all(address.startswith("#") for address in tags.addresses)
    for foreign in ("<script", "http", "url(", "@import"):
        assert foreign not in page
    words = re.sub(r"<style>.*?</style>|<[^>]*>", " ", page, flags=re.S)
    assert not re.search(r"\b(nan|inf|None|undefined)\b", words)
    for svg in re.findall(r"<svg.*?</svg>", page, re.S):
        assert "nan" not in svg
        ElementTree.fromstring(svg)
    assert len(page.encode()) < 400_000
    return " ".join(words.split())
