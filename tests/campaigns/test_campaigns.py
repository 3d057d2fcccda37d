"""The short form of every campaign; `make campaign` runs the long one."""

import os

import pytest

pytest.importorskip("resource")  # limits of memory, and kills, are those of POSIX

from campaigns.all_campaigns import CAMPAIGNS  # noqa: E402
from campaigns.campaign import RIGHT, WRONG  # noqa: E402
from campaigns.running import Worker, failure_text, run  # noqa: E402

FIRST = int(os.environ.get("DEVNET_CAMPAIGN_SEED", "0"))  # another one tries other cases


@pytest.fixture(scope="module")
def worker():
    with Worker() as worker:
        yield worker


@pytest.mark.parametrize("campaign", CAMPAIGNS.values(), ids=CAMPAIGNS)
def test_no_case_goes_wrong(campaign, worker):
    outcomes = list(run(campaign, range(FIRST, FIRST + campaign.n_short), worker))
    wrong = [failure_text(campaign.name, one) for one in outcomes if one.verdict == WRONG]
    if wrong:
        pytest.fail("\n".join([f"{len(wrong)} of {len(outcomes)} cases", *wrong]), pytrace=False)
    assert any(one.verdict == RIGHT for one in outcomes), "no case got as far as an answer"
