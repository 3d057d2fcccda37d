"""A small review, and a browser that has its page open."""

import pytest
from support.reviews import open_locally, small_review


@pytest.fixture
def review(tmp_path):
    found = small_review(tmp_path)
    yield found
    found.close()


@pytest.fixture
def browser(review):
    return open_locally(review)
