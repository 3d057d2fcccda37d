"""Pages are found, and what they lead to is there."""

import re

import pytest
from support.documents import DOCUMENTS, GUIDES, PAGES, README, ROOT, TEXTS, script


def test_the_readme_fits_on_a_few_screens():
    assert len(README.splitlines()) <= 150


def test_the_index_lists_every_page_by_its_title_and_the_site_has_it():
    site = (ROOT / "zensical.toml").read_text()
    for name in PAGES:
        page = name.removeprefix("docs/")
        title = TEXTS[name].split("\n")[0].removeprefix("# ")
        assert page == "README.md" or f"- [{title}]({page})" in TEXTS["docs/README.md"]
        assert f'"{page}"' in site


@pytest.mark.parametrize(
    "question",
    [
        "How do I install it?",
        "How do I set a threshold?",
        "Why was this row flagged?",
        "How do I use 5 labels?",
        "When do I retrain?",
        "How do I score a billion rows?",
        "How do I deploy it without Python?",
        "What does the p-value promise?",
        "Where does it lose against others?",
        "How do I remove a person's data?",
    ],
)
def test_the_index_has_one_link_for_what_everybody_asks(question):
    assert TEXTS["docs/README.md"].count(f"- [{question}](") == 1


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_file_named_in_the_documents_exists(document):
    folders = [ROOT, ROOT / "src" / "devnet", ROOT / "tests", (ROOT / document).parent]
    for name in re.findall(
        r"`((?:[\w.]+/)*[A-Za-z_]\w*\.(?:py|md|txt|toml|html))`", TEXTS[document]
    ):
        assert any((folder / name).exists() for folder in folders), name


def test_the_six_journeys_go_through_files_that_exist_in_at_most_ten_stations():
    text = TEXTS["ARCHITECTURE.md"]
    journeys = re.findall(r"^\*\*.+:\*\* `devnet.+`\n\n```\n([^`]+)```", text, re.M)
    assert len(journeys) == 6
    for journey in journeys:
        stations = [line.split(maxsplit=1)[0] for line in journey.splitlines()]
        assert len(stations) <= 10
        assert len(set(stations)) == len(stations)
        for station in stations:
            assert (ROOT / "src" / "devnet" / station).is_file(), station


def anchors(text):
    """The anchors that GitHub gives to the headings of a Markdown text."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"```.*?```", "", text, flags=re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS)
def test_every_link_in_the_documents_leads_somewhere(document):
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", TEXTS[document], flags=re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)", prose):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = (ROOT / document).parent / path if path else ROOT / document
        assert target.exists(), link
        assert not anchor or anchor in anchors(target.read_text()), link


def test_the_readme_s_pictures_are_small():
    pictures = re.findall(r"!\[.+\]\((.+)\)", README)
    assert len(pictures) == 2
    assert all((ROOT / picture).stat().st_size < 300_000 for picture in pictures)


def test_every_picture_of_the_pages_is_there_and_has_a_text_instead():
    for name in GUIDES:
        for tag in re.findall(r"<(?:img|source)[^>]*>", TEXTS[name]):
            (link,) = re.findall(r'(?:src|srcset)="([^"]+)"', tag)
            assert ((ROOT / name).parent / link).exists(), link
            assert "srcset" in tag or re.search(r'alt="[^"]+"', tag)


def test_the_figures_of_the_paper_s_page_are_those_of_the_code(tmp_path, monkeypatch):
    figures = script("figures")
    monkeypatch.setattr(figures, "PICTURES", tmp_path)
    figures.loss_figure()
    figures.training_figure()
    figures.prior_figure()
    for drawn in tmp_path.iterdir():
        assert drawn.read_text() == (ROOT / "docs" / "pictures" / drawn.name).read_text()
