"""The paper's nine data sets as data: what they are, and where to get copies."""

from devnet.datasets import parsers
from devnet.datasets.records import File, PublishedCopy, SetRecord

AUTHORS = "https://raw.githubusercontent.com/GuansongPang/deviation-network/master/dataset"
ADBENCH = "https://raw.githubusercontent.com/Minqi824/ADBench/main/adbench/datasets/Classical"
UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"

CC_BY = "CC BY 4.0, according to UCI"
MATRIX_NPZ = "NumPy .npz with the arrays X and y"
LABELLED_CSV = "CSV with a header, last column class"
CSR_NPZ = "SciPy CSR matrix in an .npz, labels in an .npy"

DATASETS = {
    "donors": SetRecord(
        domain="donations",
        anomaly="exceptionally exciting project",
        n_rows=619_326,
        n_columns=10,
        labelled_share_of_training=0.01,
        labelled_share_of_anomalies=0.08,
        address="https://www.kaggle.com/c/kdd-cup-2014-predicting-excitement-at-donors-choose",
        licence="rules of the KDD Cup 2014 competition at Kaggle",
        citation="DonorsChoose.org, Predicting Excitement at DonorsChoose.org, KDD Cup, 2014",
        sources=(
            PublishedCopy(
                files=(File("donors.npz", f"{ADBENCH}/11_donors.npz"),),
                parse=parsers.matrix_npz,
                format=MATRIX_NPZ,
            ),
        ),
    ),
    "census": SetRecord(
        domain="incomes",
        anomaly="income over 50,000 dollars",
        n_rows=299_285,
        n_columns=500,
        labelled_share_of_training=0.01,
        labelled_share_of_anomalies=0.16,
        address="https://archive.ics.uci.edu/ml/datasets/Census-Income+(KDD)",
        licence=CC_BY,
        citation="US Census Bureau, Census-Income (KDD), UCI Machine Learning Repository, 2000",
        sources=(
            PublishedCopy(
                files=(
                    File(
                        "census-income.data.gz",
                        f"{UCI}/census-income-mld/census-income.data.gz",
                        "5af0244397fa52b5ac93ef5fd8293426b6bc04a30adb6c15f5e527e4dcbef33a",
                    ),
                    File(
                        "census-income.test.gz",
                        f"{UCI}/census-income-mld/census-income.test.gz",
                        "5ac4cacd3ca9f1ecb10de1a0a41e4ac68fdc419e3fec190f5c0c6cc03b2ea659",
                    ),
                ),
                parse=parsers.census,
                format="two gzipped files of comma-separated records, no header, last field income",
                note="the one-hot encoding is a reconstruction",
            ),
        ),
    ),
    "fraud": SetRecord(
        domain="payments",
        anomaly="fraudulent credit card transaction",
        n_rows=284_807,
        n_columns=29,
        labelled_share_of_training=0.01,
        labelled_share_of_anomalies=6.10,
        address="https://www.kaggle.com/mlg-ulb/creditcardfraud",
        licence="Open Database License, contents under DbCL 1.0, according to Kaggle",
        citation="Dal Pozzolo, Caelen, Johnson, Bontempi, Calibrating Probability with "
        "Undersampling for Unbalanced Classification, IEEE SSCI, 2015",
        sources=(
            PublishedCopy(
                files=(
                    File(
                        "creditcard.csv",
                        "https://storage.googleapis.com/download.tensorflow.org/data/creditcard.csv",
                        "76274b691b16a6c49d3f159c883398e03ccd6d1ee12d9d8ee38f4b4b98551a89",
                    ),
                ),
                parse=parsers.credit_card_csv,
                format="CSV with a header: Time, V1 to V28, Amount, Class",
            ),
            PublishedCopy(
                files=(File("fraud.npz"),),
                parse=parsers.raw_matrix_npz,
                format=f"{MATRIX_NPZ}, not scaled",
            ),
        ),
    ),
    "celeba": SetRecord(
        domain="faces",
        anomaly="bald celebrity",
        n_rows=202_599,
        n_columns=39,
        labelled_share_of_training=0.02,
        labelled_share_of_anomalies=0.66,
        address="http://mmlab.ie.cuhk.edu.hk/projects/CelebA.html",
        licence="for non-commercial research only",
        citation="Liu, Luo, Wang, Tang, Deep Learning Face Attributes in the Wild, ICCV, 2015",
        sources=(
            PublishedCopy(
                files=(File("celeba.npz", f"{ADBENCH}/8_celeba.npz"),),
                parse=parsers.matrix_npz,
                format=MATRIX_NPZ,
            ),
        ),
    ),
    "backdoor": SetRecord(
        domain="networks",
        anomaly="backdoor attack",
        n_rows=95_329,
        n_columns=196,
        labelled_share_of_training=0.04,
        labelled_share_of_anomalies=1.29,
        address="https://www.unsw.adfa.edu.au/unsw-canberra-cyber/cybersecurity/ADFA-NB15-Datasets/",
        licence="UNSW-NB15: free for academic research",
        citation="Moustafa, Slay, UNSW-NB15: A Comprehensive Data Set for Network Intrusion "
        "Detection Systems, MilCIS, 2015",
        sources=(
            PublishedCopy(
                files=(
                    File(
                        "UNSW_NB15_traintest_backdoor.tar.xz",
                        f"{AUTHORS}/UNSW_NB15_traintest_backdoor.tar.xz",
                        "b3f703966c1cc952f55d73f707611be8157500f20a296a8598438a2f572bfdfe",
                    ),
                ),
                parse=parsers.labelled_csv,
                format=f"{LABELLED_CSV}, in a .tar.xz archive",
            ),
        ),
    ),
    "URL": SetRecord(
        domain="web",
        anomaly="malicious URL",
        n_rows=89_063,
        n_columns=3_231_961,
        labelled_share_of_training=0.04,
        labelled_share_of_anomalies=1.69,
        address="http://www.sysnet.ucsd.edu/projects/url/",
        licence=CC_BY,
        citation="Ma, Saul, Savage, Voelker, Identifying Suspicious URLs: An Application of "
        "Large-Scale Online Learning, ICML, 2009",
        sources=(
            PublishedCopy(
                files=tuple(File(f"url_svmlight/Day{day}.svm") for day in parsers.URL_DAYS),
                parse=parsers.svmlight_days,
                format="svmlight, one file per day, the first week",
            ),
            PublishedCopy(
                # The server of the set's own page lacks https, and no checksum is published.
                files=(File("url_svmlight.tar.gz", f"{UCI}/url/url_svmlight.tar.gz"),),
                parse=parsers.svmlight_days_archive,
                format="svmlight, one file per day in a .tar.gz archive, the first week of it",
            ),
            PublishedCopy(
                files=(File("url_X.npz"), File("url_y.npy")),
                parse=parsers.csr_npz,
                format=CSR_NPZ,
                note="a SUBSTITUTE: other real URLs of the same size and sparsity; its accuracy "
                "cannot be compared with the paper's",
                is_substitute=True,
            ),
        ),
    ),
    "campaign": SetRecord(
        domain="marketing",
        anomaly="successful marketing call",
        n_rows=41_188,
        n_columns=62,
        labelled_share_of_training=0.10,
        labelled_share_of_anomalies=0.65,
        address="https://archive.ics.uci.edu/ml/datasets/bank+marketing",
        licence=CC_BY,
        citation="Moro, Cortez, Rita, A Data-Driven Approach to Predict the Success of Bank "
        "Telemarketing, Decision Support Systems, 2014",
        sources=(
            PublishedCopy(
                files=(File("campaign.npz", f"{ADBENCH}/5_campaign.npz"),),
                parse=parsers.matrix_npz,
                format=MATRIX_NPZ,
            ),
            PublishedCopy(
                files=(File("bank-additional-full.csv"),),
                parse=parsers.bank_marketing_csv,
                format="CSV with a header and semicolons, last column y",
            ),
            PublishedCopy(
                files=(File("bank-additional.zip", f"{UCI}/00222/bank-additional.zip"),),
                parse=parsers.bank_marketing_csv,
                format="CSV with a header and semicolons, last column y, in a .zip archive",
            ),
        ),
    ),
    "news20": SetRecord(
        domain="news",
        anomaly="message of the smaller class",
        n_rows=10_523,
        n_columns=1_355_191,
        labelled_share_of_training=0.37,
        labelled_share_of_anomalies=5.70,
        address="https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/",
        licence="none stated; offered for research",
        citation="Keerthi, DeCoste, A Modified Finite Newton Method for Fast Solution of Large "
        "Scale Linear SVMs, JMLR, 2005",
        sources=(
            PublishedCopy(
                files=(File("news20.binary"),),
                parse=parsers.news20_svmlight,
                format="svmlight",
            ),
            PublishedCopy(
                files=(
                    File(
                        "news20.binary.bz2",
                        "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary/"
                        "news20.binary.bz2",
                    ),
                ),
                parse=parsers.news20_svmlight,
                format="svmlight, compressed with bzip2",
            ),
            PublishedCopy(
                files=(File("news20_X.npz"), File("news20_y.npy")),
                parse=parsers.csr_npz,
                format=CSR_NPZ,
                note="rebuilt from the raw messages, not the LIBSVM file",
                is_substitute=True,
            ),
        ),
    ),
    "thyroid": SetRecord(
        domain="medicine",
        anomaly="hypothyroid patient",
        n_rows=7_200,
        n_columns=21,
        labelled_share_of_training=0.55,
        labelled_share_of_anomalies=5.62,
        address="http://archive.ics.uci.edu/ml/datasets/thyroid+disease",
        licence=CC_BY,
        citation="Quinlan, Thyroid Disease, UCI Machine Learning Repository, 1987",
        sources=(
            PublishedCopy(
                files=(
                    File(
                        "annthyroid_21feat_normalised.csv",
                        f"{AUTHORS}/annthyroid_21feat_normalised.csv",
                        "e99d27d8d34ef4c6af1bd5fa76d9c0d39de8b1321f67955e2d3fc65747887fc8",
                    ),
                ),
                parse=parsers.labelled_csv,
                format=LABELLED_CSV,
            ),
        ),
    ),
}
