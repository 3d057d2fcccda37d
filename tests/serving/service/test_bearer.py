"""The token: one line of a file that nobody else may read, compared in constant time."""

import hmac

import pytest

from devnet.core.sentence import UserError
from devnet.serving.service.bearer import Bearer, read_token

TOKEN = "0123456789abcdef"


@pytest.mark.parametrize("sent", [f"Bearer {TOKEN}", f"bearer {TOKEN}", f"BEARER  {TOKEN} "])
def test_the_token_is_known(sent):
    assert Bearer(TOKEN).admits(sent)


@pytest.mark.parametrize(
    "sent",
    [None, "", "Bearer", "Bearer ", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x", "Bearer é"]
    + [f"Bearer {TOKEN[:-1]}", f"Bearer{TOKEN}", f"Bearer {TOKEN} {TOKEN}"],
)
def test_nothing_else_is(sent):
    assert not Bearer(TOKEN).admits(sent)


def test_tokens_are_compared_as_hashes_in_constant_time(monkeypatch):
    compared = []

    def compare(one, other):
        compared.append((len(one), len(other)))
        return one == other

    monkeypatch.setattr(hmac, "compare_digest", compare)
    bearer = Bearer(TOKEN)
    for sent in (None, "Bearer x", f"Bearer {TOKEN}"):
        bearer.admits(sent)
    assert compared == [(32, 32)] * 3
    assert TOKEN not in str(vars(bearer))


def write(path, text, mode=0o600):
    path.touch(mode)
    path.write_text(text)
    path.chmod(mode)
    return path


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_token_is_read_from_its_file(tmp_path, end):
    assert read_token(write(tmp_path / "token", TOKEN + end)).admits(f"Bearer {TOKEN}")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o777])
def test_a_file_that_others_may_read_is_refused(tmp_path, mode):
    with pytest.raises(UserError, match="others may read .* chmod 600"):
        read_token(write(tmp_path / "token", TOKEN, mode))


@pytest.mark.parametrize(
    "text",
    ["", "short", f"{TOKEN} {TOKEN}", f"{TOKEN}\n{TOKEN}", "x" * 1001, "é" * 20, TOKEN + "\x1b"],
)
def test_a_token_that_cannot_be_sent_or_is_short_is_refused(tmp_path, text):
    with pytest.raises(UserError, match="must have one line of 16 to 1,000") as error:
        read_token(write(tmp_path / "token", text))
    assert not text or text not in str(error.value)


def test_a_token_file_that_is_not_there_is_told_how_to_make(tmp_path):
    with pytest.raises(UserError, match="there is no token file .*openssl rand -hex 32"):
        read_token(tmp_path / "token")
    with pytest.raises(UserError, match="is no file"):
        read_token(tmp_path)
