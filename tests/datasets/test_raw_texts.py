"""Raw texts: how archives and lists become texts with a truth."""

import io
import lzma
import tarfile

import numpy as np
import pytest

from devnet.datasets.raw_texts import load_texts


def write_messages(path):
    groups = {"alt.atheism": 3, "comp.graphics": 2, "sci.space": 1, "talk.religion": 2}
    with tarfile.open(path, "w:xz") as archive:
        for group, n in groups.items():
            for i in range(n):
                body = f"Newsgroups: {group}\nSubject: s\n\nmessage {i} of caf\u00e9\n\nbye"
                content = body.encode("latin-1")
                entry = tarfile.TarInfo(f"data/{group}/{i}")
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))


def test_messages_come_without_their_headers(tmp_path):
    write_messages(tmp_path / "20_newsgroups-19997.tar.xz")
    found = load_texts("messages", tmp_path)
    assert found.name == "message"
    assert found.texts[0] == "message 0 of café\n\nbye"
    assert found.is_anomaly.tolist() == [False] * 3 + [True] * 3 + [False] * 2


def test_addresses_are_those_of_the_task(tmp_path):
    lines = ["source,url,label,in_task", 'a,"http://x.y/?a,b",1,1', "a,http://z,0,0", "b,w.z,0,1"]
    with lzma.open(tmp_path / "urls.csv.xz", "wt") as file:
        file.write("\n".join(lines))
    found = load_texts("addresses", tmp_path)
    assert found.texts == ["http://x.y/?a,b", "w.z"]
    assert np.array_equal(found.is_anomaly, [True, False])


def test_an_absent_file_is_named_with_the_folders_that_were_searched(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no urls\.csv\.xz in .*set DEVNET_DATA"):
        load_texts("addresses", tmp_path)
    with pytest.raises(ValueError, match="mails"):
        load_texts("mails", tmp_path)
