"""Columns of every Arrow type, with the values that people and programs put into them."""

import datetime
import decimal
import math
import random
import uuid
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

Value = Callable[[random.Random], Any]
PAIR = pa.struct([("index", pa.int32()), ("value", pa.float32())])
UNITS = ["s", "ms", "us", "ns"]
ZONES = [None, "UTC", "Europe/Berlin", "+05:30", "Nowhere/Town"]
FLOATS = [0.0, -0.0, 1.0, 1e-320, 5e-324, 1e38, -1e38, 3.5e38, 1e308, -1e308, math.nan, math.inf]
TEXTS = [
    *("", " ", "a", "A", "a ", "b", "NA", "None", "nan", "null", "?", "-", "0", "1", "true", "ß"),
    *(
        "日本語",
        "\u202eabc",
        "e\u0301",
        "é",
        "\x1b[31m",
        "a\nb",
        "a\tb",
        "\0",
        '"',
        "'",
        "=1+1",
        "𝔘",
    ),
    *("1,234.56", "1.234,56", "$9", "9 €", "12%", "(5)", "5-", ">808", "1.2k", "3 kg", "1e5"),
    *("2020-01-01", "01/02/2020", "31.12.1999", "23:59", "May 5, 2020", "1577836800", "007"),
    *(
        "12345678901234567890",
        "x" * 300,
        "several words of free text, here",
        "١٢٣",
        "１２",
        "1_000",
    ),
]
WORDS = ["pay", "now", "refund", "parcel", "invoice", "urgent", "hello", "bank", "order", "thanks"]
NAMES = [
    *(
        "id",
        "amount",
        "shop",
        "time",
        "a b",
        "x[3]",
        "a.b",
        "A",
        "a",
        "ß",
        "\u202eabc",
        "'\n\"",
        "=x",
    ),
    *("anomaly_score", "p_value", "is_alert", "row", "rank", "table_a", "__index_level_0__", "0"),
    *("é", "e\u0301", "x" * 300, "{{ x }}", "<b>", "\0", "label", "customer_id", "index", " a"),
]


def random_name(rng: random.Random) -> str:
    """A name of a column, as odd as names are; the same one may come again."""
    return rng.choice(NAMES) if rng.random() < 0.5 else f"c{rng.randrange(1000)}"


def random_column(rng: random.Random) -> tuple[pa.DataType, Value]:
    """An Arrow type, and what makes its values."""
    return rng.choice(_MAKERS)(rng)


def plain_column(rng: random.Random) -> tuple[pa.DataType, Value]:
    """A column that can be learned from."""
    return rng.choice([_amounts, _categories, _times, _integers])(rng)


def array_of(
    rng: random.Random, kind: pa.DataType, value: Value, n_rows: int, share_missing: float
) -> pa.Array:
    """An array, at times as part of a longer one, so that it has an offset."""
    n_before = rng.choice([0, 0, 3])
    values = [
        None if rng.random() < share_missing else value(rng) for _ in range(n_before + n_rows)
    ]
    return _typed(rng, values, kind).slice(n_before)


def _typed(rng: random.Random, values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_dictionary(kind):
        return _dictionary(rng, values, kind)
    if pa.types.is_run_end_encoded(kind):
        return pc.run_end_encode(pa.array(values, kind.value_type))
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        return _temporal(values, kind)
    return pa.array(values, kind)


def _temporal(values: list[Any], kind: pa.DataType) -> pa.Array:
    """Whole numbers as dates and times, which reach farther than Python's."""
    width = pa.int32() if kind.bit_width == 32 else pa.int64()
    return pa.array(values, width).cast(kind) if kind != pa.date64() else _days(values)


def _days(values: list[Any]) -> pa.Array:
    return pa.array(values, pa.int64()).cast(pa.date64())


def _dictionary(rng: random.Random, values: list[Any], kind: pa.DataType) -> pa.Array:
    """Codes and their values, a null or an unused one among them at times."""
    distinct = list(dict.fromkeys(map(repr, values)))[:100]
    known = [next(value for value in values if repr(value) == one) for one in distinct]
    codes = [distinct.index(repr(value)) if repr(value) in distinct else None for value in values]
    known += rng.choice([[], [None], known[:1]])
    dictionary = _typed(rng, known, kind.value_type)
    return pa.DictionaryArray.from_arrays(pa.array(codes, kind.index_type), dictionary)


def _integers(rng: random.Random) -> tuple[pa.DataType, Value]:
    bits, is_signed = rng.choice([8, 16, 32, 64]), rng.random() < 0.7
    kind = getattr(pa, f"{'' if is_signed else 'u'}int{bits}")()
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if is_signed else (0, 2**bits - 1)
    most = rng.choice([2, 100, high])
    return kind, lambda r: r.choice([low, high]) if r.random() < 0.03 else r.randint(0, most)


def _floats(rng: random.Random) -> tuple[pa.DataType, Value]:
    kind = rng.choice([pa.float16(), pa.float32(), pa.float64()])
    rare, scale = rng.choice([0.0, 0.1, 1.0]), 10 ** rng.choice([-300, -30, 0, 3, 30, 300])
    most = {pa.float16(): 6e4, pa.float32(): 3e38}.get(kind, 1e308)

    def value(r: random.Random) -> float:
        found = r.choice(FLOATS) if r.random() < rare else r.gauss(0, 1) * scale
        return max(-most, min(most, found)) if math.isfinite(found) else found

    return kind, value


def _amounts(rng: random.Random) -> tuple[pa.DataType, Value]:
    return pa.float64(), lambda r: r.lognormvariate(3, 1)


def _decimals(rng: random.Random) -> tuple[pa.DataType, Value]:
    digits, scale = rng.choice([(5, 2), (38, 0), (38, 38), (20, -3)])
    kind = pa.decimal128(digits, scale)
    if rng.random() < 0.3:
        digits, scale, kind = 70, 10, pa.decimal256(70, 10)
    with decimal.localcontext(prec=100):
        unit = decimal.Decimal(1).scaleb(-scale)

    def value(r: random.Random) -> decimal.Decimal:
        with decimal.localcontext(prec=100):
            return r.randint(-(10**digits) + 1, 10**digits - 1) * unit

    return kind, value


def _categories(rng: random.Random) -> tuple[pa.DataType, Value]:
    values = rng.sample(TEXTS, rng.choice([2, 4, 9]))
    kind = rng.choice([pa.string(), pa.large_string(), pa.string_view()])
    return kind, lambda r: r.choice(values)


def _texts(rng: random.Random) -> tuple[pa.DataType, Value]:
    kind = rng.choice([pa.string(), pa.large_string()])
    if rng.random() < 0.3:
        return kind, lambda r: r.choice(TEXTS)
    return kind, lambda r: " ".join(r.choices(WORDS, k=r.randint(3, 14)))


def _written_numbers(rng: random.Random) -> tuple[pa.DataType, Value]:
    form = rng.choice(["${:,.2f}", "{:.1f}%", "{:.0f} kg", "({:.2f})", "{:.3e}", "{:.0f}"])
    marks = rng.choice([[], ["n/a"], ["never", "T"], ["x"]])
    return (
        pa.string(),
        lambda r: (
            r.choice(marks) if marks and r.random() < 0.1 else form.format(r.lognormvariate(5, 2))
        ),
    )


def _written_dates(rng: random.Random) -> tuple[pa.DataType, Value]:
    form = rng.choice(["%d/%m/%Y", "%m/%d/%Y", "%Y-%m-%d %H:%M", "%d.%m.%y", "%b %d, %Y", "%Y%m%d"])
    first = datetime.datetime(2019, 1, 1)
    return pa.string(), lambda r: (first + datetime.timedelta(minutes=r.randrange(10**6))).strftime(
        form
    )


def _booleans(rng: random.Random) -> tuple[pa.DataType, Value]:
    return pa.bool_(), lambda r: r.random() < 0.4


def _times(rng: random.Random) -> tuple[pa.DataType, Value]:
    unit, zone = rng.choice(UNITS), rng.choice(ZONES)
    step = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    return pa.timestamp(unit, zone), lambda r: r.randrange(1_500_000_000, 1_700_000_000) * step


def _far_times(rng: random.Random) -> tuple[pa.DataType, Value]:
    ends = [-(2**63), 2**63 - 1, 0, -1, 253402300800, -62135596801, 10**17]
    return pa.timestamp(rng.choice(UNITS), rng.choice(ZONES)), lambda r: r.choice(ends)


def _dates(rng: random.Random) -> tuple[pa.DataType, Value]:
    ends = [0, 18_000, -1, 10**6, 2**31 - 1, -(2**31)]
    if rng.random() < 0.5:
        return (
            pa.date32(),
            lambda r: r.choice(ends) if r.random() < 0.1 else r.randrange(17_000, 20_000),
        )
    return pa.date64(), lambda r: r.randrange(17_000, 20_000) * 86_400_000


def _clock_times(rng: random.Random) -> tuple[pa.DataType, Value]:
    kind, most = rng.choice([(pa.time32("s"), 86_399), (pa.time64("us"), 86_399_999_999)])
    return kind, lambda r: r.randint(0, most)


def _durations(rng: random.Random) -> tuple[pa.DataType, Value]:
    kind = pa.duration(rng.choice(UNITS))
    return (
        kind,
        lambda r: r.choice([2**63 - 1, -(2**63)]) if r.random() < 0.1 else r.randrange(10**9),
    )


def _intervals(rng: random.Random) -> tuple[pa.DataType, Value]:
    return pa.month_day_nano_interval(), lambda r: (r.randrange(12), r.randrange(30), 0)


def _binaries(rng: random.Random) -> tuple[pa.DataType, Value]:
    kind = rng.choice([pa.binary(), pa.large_binary(), pa.binary(3), pa.binary_view()])
    return kind, lambda r: r.randbytes(3)


def _dictionaries(rng: random.Random) -> tuple[pa.DataType, Value]:
    inner = rng.choice([_integers, _categories, _floats, _times, _booleans, _decimals])
    kind, value = inner(rng)
    kind = pa.string() if kind == pa.string_view() else kind
    return pa.dictionary(rng.choice([pa.int8(), pa.int32(), pa.uint64()]), kind), value


def _encoded_runs(rng: random.Random) -> tuple[pa.DataType, Value]:
    return pa.run_end_encoded(pa.int32(), pa.string()), lambda r: r.choice(["a", "b"])


def _lists(rng: random.Random) -> tuple[pa.DataType, Value]:
    inner, value = rng.choice([_integers, _floats, _categories, _booleans, _structs])(rng)
    kind = rng.choice([pa.list_(inner), pa.large_list(inner), pa.list_(inner, 2)])
    n = (2, 2) if pa.types.is_fixed_size_list(kind) else (0, 3)
    return kind, lambda r: [value(r) for _ in range(r.randint(*n))]


def _structs(rng: random.Random) -> tuple[pa.DataType, Value]:
    makers = rng.choices([_integers, _amounts, _categories, _booleans], k=rng.choice([0, 1, 3]))
    inner = [maker(rng) for maker in makers]
    names = [rng.choice(["a", "b", "a.b", "", "ß"]) + str(i) for i in range(len(inner))]
    kind = pa.struct([(name, one) for name, (one, _) in zip(names, inner, strict=True)])
    return kind, lambda r: {
        name: None if r.random() < 0.1 else value(r)
        for name, (_, value) in zip(names, inner, strict=True)
    }


def _vectors(rng: random.Random) -> tuple[pa.DataType, Value]:
    most = rng.choice([3, 40, 2**31 - 1])
    return pa.list_(PAIR), lambda r: [
        {"index": r.randint(-1, most) if r.random() < 0.02 else r.randint(0, most), "value": 1.0}
        for _ in range(r.randint(0, 3))
    ]


def _maps(rng: random.Random) -> tuple[pa.DataType, Value]:
    return pa.map_(pa.string(), pa.int8()), lambda r: [("a", 1)] * r.randint(0, 1)


def _nothing(rng: random.Random) -> tuple[pa.DataType, Value]:
    return pa.null(), lambda r: None


def _uuids(rng: random.Random) -> tuple[pa.DataType, Value]:
    return pa.uuid(), lambda r: uuid.UUID(int=r.getrandbits(128)).bytes


_MAKERS = [
    *(_integers, _floats, _amounts, _decimals, _categories, _texts, _written_numbers),
    *(_written_dates, _booleans, _times, _far_times, _dates, _clock_times, _durations),
    *(_intervals, _binaries, _dictionaries, _encoded_runs, _lists, _structs, _vectors, _maps),
    *(_nothing, _uuids),
]
