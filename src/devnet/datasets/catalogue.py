"""The paper's nine data sets as data: what they are, and where copies of them are looked for."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from devnet.datasets import parsers
from devnet.datasets.parsers import Table


class Source(NamedTuple):
    """One form in which a set may lie in a folder."""

    files: tuple[str, ...]
    parse: Callable[..., Table]
    note: str = ""  # how it differs from the paper's set


class Record(NamedTuple):
    """One data set of Table 1."""

    anomaly: str
    n_rows: int
    n_columns: int
    address: str  # the paper's, Table 3
    sources: tuple[Source, ...]  # the first one whose files are there is read

    def find(self, folders: list[Path]) -> tuple[Source, list[Path]] | None:
        """The source to read, and its files."""
        for source in self.sources:
            for folder in folders:
                paths = [folder / file for file in source.files]
                if all(path.is_file() for path in paths):
                    return source, paths
        return None


DATASETS = {
    "donors": Record(
        "exceptionally exciting project",
        619_326,
        10,
        "https://www.kaggle.com/c/kdd-cup-2014-predicting-excitement-at-donors-choose",
        (Source(("donors.npz",), parsers.matrix_npz),),
    ),
    "census": Record(
        "income over 50,000 dollars",
        299_285,
        500,
        "https://archive.ics.uci.edu/ml/datasets/Census-Income+(KDD)",
        (
            Source(
                ("census-income.data.gz", "census-income.test.gz"),
                parsers.census,
                "the one-hot encoding is a reconstruction",
            ),
        ),
    ),
    "fraud": Record(
        "fraudulent credit card transaction",
        284_807,
        29,
        "https://www.kaggle.com/mlg-ulb/creditcardfraud",
        (
            Source(("creditcard.csv",), parsers.credit_card_csv),
            Source(("fraud.npz",), parsers.raw_matrix_npz),
        ),
    ),
    "celeba": Record(
        "bald celebrity",
        202_599,
        39,
        "http://mmlab.ie.cuhk.edu.hk/projects/CelebA.html",
        (Source(("celeba.npz",), parsers.matrix_npz),),
    ),
    "backdoor": Record(
        "backdoor attack",
        95_329,
        196,
        "https://www.unsw.adfa.edu.au/unsw-canberra-cyber/cybersecurity/ADFA-NB15-Datasets/",
        (Source(("UNSW_NB15_traintest_backdoor.tar.xz",), parsers.labelled_csv),),
    ),
    "URL": Record(
        "malicious URL",
        89_063,
        3_231_961,
        "http://www.sysnet.ucsd.edu/projects/url/",
        (
            Source(tuple(f"url_svmlight/Day{day}.svm" for day in range(7)), parsers.svmlight_days),
            Source(
                ("url_X.npz", "url_y.npy"),
                parsers.csr_npz,
                "a SUBSTITUTE: other real URLs of the same size and sparsity; its accuracy cannot "
                "be compared with the paper's",
            ),
        ),
    ),
    "campaign": Record(
        "successful marketing call",
        41_188,
        62,
        "https://archive.ics.uci.edu/ml/datasets/bank+marketing",
        (
            Source(("campaign.npz",), parsers.matrix_npz),
            Source(("bank-additional-full.csv",), parsers.bank_marketing_csv),
        ),
    ),
    "news20": Record(
        "message of the smaller class",
        10_523,
        1_355_191,
        "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/",
        (
            Source(("news20.binary",), parsers.news20_svmlight),
            Source(
                ("news20_X.npz", "news20_y.npy"),
                parsers.csr_npz,
                "rebuilt from the raw messages, not the LIBSVM file",
            ),
        ),
    ),
    "thyroid": Record(
        "hypothyroid patient",
        7_200,
        21,
        "http://archive.ics.uci.edu/ml/datasets/thyroid+disease",
        (Source(("annthyroid_21feat_normalised.csv",), parsers.labelled_csv),),
    ),
}
