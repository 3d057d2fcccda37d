"""Edits of a model file, from single bytes to tree links that lead nowhere."""

import json
import math
import random
import struct
from contextlib import suppress
from typing import Any

import numpy as np
from safetensors.numpy import load as from_bytes
from safetensors.numpy import save as to_bytes
from support.model_files import resealed, sealed

HEADER = "devnet"
RAW = "@raw "  # a text that begins so stands for JSON that `json` would not write
DOUBLE = "@double "  # a key that begins so becomes a second one of the same name
RAW_VALUES = {
    "nested 3,000 deep": "[" * 3000 + "]" * 3000,
    "5,000 digits": "9" * 5000,
    "1e999": "1e999",
    "a lone surrogate": '"\\ud800"',
}
EXTREMES: list[Any] = [
    *(None, True, False, -1, 0, 1, 2, 7, 2**31 - 1, 2**31, 2**53 + 1, 2**63, -(2**63), 10**400),
    *(0.5, -0.5, 1e-320, 1e38, -1e38, 1e308, -1e308, math.nan, math.inf, -math.inf),
    *("", "x", "0", "nan", "DevNet", "number", "text", "\ud800", "\x00", "\x1b[31m", "x" * 50_000),
    *([], [[]], [None], ["x"], [0, 1], [1.5] * 3, [0] * 5000, {}, {"a": 1}, {"": {}}),
    *({"Layout": [[1], [True]]}, {"GaussianPrior": [0, 1, 5000]}, {"module": "os"}),
    *(RAW + name for name in RAW_VALUES),
]
NUMBERS = [0, 1, -1, 2, 0.5, -(2**31), 2**31 - 1, 2**62, 1e-38, 1e20, 1e38, -1e38, 1e300, math.nan]
DTYPES = ["float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "bool"]
LONG = 40_000  # nodes of a tree that is one path

Header = dict[str, Any]
Tensors = dict[str, np.ndarray]


def mutated(rng: random.Random, content: bytes, *, is_sealed: bool) -> tuple[list[str], bytes]:
    """What was edited, and the file."""
    level = rng.choices([*EDITS, "bytes", "index"], [8, 8, 5, 5, 2, 1])[0]
    if level in ("bytes", "index"):
        edits, changed = (_bytes if level == "bytes" else _index)(rng, content)
        return edits, resealed(changed) if is_sealed else changed
    header, tensors = opened(content)
    n_edits = rng.choice([1, 1, 1, 2, 3])
    # An edit may have removed the last tensor.
    edits = [EDITS[level](rng, header, tensors) for _ in range(n_edits) if tensors]
    return edits, closed(header, tensors, is_sealed=is_sealed)


def opened(content: bytes) -> tuple[Header, Tensors]:
    """Header and tensors of a model file."""
    (size,) = struct.unpack("<Q", content[:8])
    index = json.loads(content[8 : 8 + size])
    return json.loads(index["__metadata__"][HEADER]), dict(from_bytes(content))


def closed(header: Header, tensors: Tensors, *, is_sealed: bool) -> bytes:
    """A model file of header and tensors, however odd."""
    if is_sealed:
        header.pop("checksum", None)
    text = json.dumps(header)
    for name, raw in RAW_VALUES.items():
        text = text.replace(json.dumps(RAW + name), raw)
    text = text.replace(f'"{DOUBLE}', '"')
    arrays = {name: np.array(array, order="C") for name, array in tensors.items()}
    if is_sealed:
        with suppress(ValueError, RecursionError):  # JSON that no reader takes needs no seal
            checksum = sealed(json.loads(text), arrays)["checksum"]
            text = f'{{"checksum": {json.dumps(checksum)}, {text[1:]}'
    return to_bytes(arrays, metadata={HEADER: text})


def _bytes(rng: random.Random, content: bytes) -> tuple[list[str], bytes]:
    """Flip, cut, insert, remove or blank some bytes, in the header as often as behind it."""
    (size,) = struct.unpack("<Q", content[:8])
    start = rng.randrange(8 + size) if rng.random() < 0.5 else rng.randrange(len(content))
    n, changed = rng.choice([1, 1, 2, 8, 300]), bytearray(content)
    what = rng.choice(["flipped", "cut", "inserted", "removed", "blanked"])
    if what == "flipped":
        for position in range(start, min(start + n, len(changed))):
            changed[position] ^= rng.randrange(1, 256)
    elif what == "cut":
        del changed[start:]
    elif what == "inserted":
        changed[start:start] = rng.randbytes(n)
    elif what == "removed":
        del changed[start : start + n]
    else:
        changed[start : start + n] = bytes(len(changed[start : start + n]))
    return [f"{n} bytes {what} at {start:,} of {len(content):,}"], bytes(changed)


def _index(rng: random.Random, content: bytes) -> tuple[list[str], bytes]:
    """Edit what safetensors itself says about the tensors."""
    (size,) = struct.unpack("<Q", content[:8])
    index, data = json.loads(content[8 : 8 + size]), content[8 + size :]
    name = rng.choice([key for key in index if key != "__metadata__"])
    field, value = rng.choice(
        [
            (
                "dtype",
                rng.choice(["F16", "F32", "F64", "I8", "I32", "I64", "BF16", "BOOL", "X", 3]),
            ),
            ("shape", rng.choice([[], [0], [-1], [2**62], [2**32, 2**32], [0, 2**62], "x", None])),
            ("data_offsets", rng.choice([[0, 0], [0, 2**62], [8, 0], [-1, 8], [0], None])),
            ("more", 1),
        ]
    )
    index[name][field] = value
    if rng.random() < 0.2:
        index = {"__metadata__": rng.choice([{}, {HEADER: 3}, {"other": "x"}, [], None])} | {
            key: value for key, value in index.items() if key != "__metadata__"
        }
    text = json.dumps(index).encode()
    size = rng.choice([len(text)] * 8 + [0, 2**40])
    return [f"index: {name}.{field} = {value!r}"], struct.pack("<Q", size) + text + data


def _edit_header(rng: random.Random, header: Header, tensors: Tensors) -> str:
    """Replace, nudge, remove, double or exchange a part of the JSON header."""
    path, part = _walk(rng, header)
    holder, key = part
    where = ".".join(map(str, path))
    what = rng.choice([*("nudge",) * 5, *("replace",) * 3, "remove", "double", "take"])
    if what == "remove":
        del holder[key]
        return f"header: {where} removed"
    if what == "double" and isinstance(key, str):
        value = rng.choice(EXTREMES)
        holder[DOUBLE + key] = value
        return f"header: a second {where} = {_short(value)}"
    if what == "take":
        other, (there, name) = _walk(rng, header)
        holder[key] = json.loads(json.dumps(there[name]))
        return f"header: {where} = that of {'.'.join(map(str, other))}"
    value = _nudged(rng, holder[key]) if what == "nudge" else _extreme(rng, holder[key])
    holder[key] = value
    return f"header: {where} = {_short(value)}"


def _walk(rng: random.Random, header: Header) -> tuple[list[Any], tuple[Any, Any]]:
    """A random part of a JSON value: its path, and the container and key that hold it."""
    holder: Any = header
    path: list[Any] = []
    while True:
        key = rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
        path.append(key)
        inside = holder[key]
        if not (isinstance(inside, dict | list) and inside) or rng.random() < 0.2:
            return path, (holder, key)
        holder = inside


def _extreme(rng: random.Random, value: Any) -> Any:
    """Any extreme value, mostly of the same type, which passes the first check."""
    alike = [one for one in EXTREMES if type(one) is type(value)]
    return rng.choice(alike if alike and rng.random() < 0.6 else EXTREMES)


def _nudged(rng: random.Random, value: Any) -> Any:
    """Nearly the same value, which passes a check of its type."""
    if isinstance(value, bool) or value is None:
        return rng.choice([True, False, None, 1])
    if isinstance(value, int | float) and abs(value) < 1e300:
        return rng.choice([value + 1, value - 1, -value, value * 1000, float(value), value + 0.5])
    if isinstance(value, str):
        return rng.choice([value + " ", value.upper(), value[:-1], value * 2, f"{value}\u202e"])
    if isinstance(value, list):
        return rng.choice([value[:-1], value + value, value[::-1], value * 1000, value + [None]])
    if isinstance(value, dict):
        names = list(value)
        return {name: value[name] for name in rng.sample(names, len(names) // 2)}
    return 0


def _edit_tensors(rng: random.Random, header: Header, tensors: Tensors) -> str:
    """Change the values, shape, type or name of a tensor."""
    name = rng.choice(sorted(tensors))
    changes = [*(_values,) * 4, *(_one_value,) * 4, _order, _order, _shape, _type, _names]
    change = rng.choice(changes)
    return f"tensor {name}: {change(rng, tensors, name)}"


def _values(rng: random.Random, tensors: Tensors, name: str) -> str:
    array, factor = tensors[name], rng.choice(NUMBERS)
    is_scaled = rng.random() < 0.7
    with np.errstate(all="ignore"):
        changed = array * float(factor) if is_scaled else np.full(array.shape, float(factor))
        tensors[name] = changed.astype(array.dtype)
    return f"{'times' if is_scaled else 'all'} {factor}"


def _edit_scales(rng: random.Random, header: Header, tensors: Tensors) -> str:
    """Make all numbers of some tensors huge or tiny, but finite."""
    names = [name for name in sorted(tensors) if tensors[name].dtype.kind == "f"]
    chosen = rng.sample(names, rng.randint(1, len(names)))
    factor = rng.choice([0.0, -1.0, 1e-45, 1e-30, 1e18, 1e30, 1e38, -1e38, 1e300])
    for name in chosen:
        most = np.finfo(tensors[name].dtype).max
        with np.errstate(over="ignore"):
            scaled = tensors[name].astype(np.float64) * factor
        tensors[name] = scaled.clip(-most, most).astype(tensors[name].dtype)
    return f"{', '.join(chosen)} times {factor}"


def _one_value(rng: random.Random, tensors: Tensors, name: str) -> str:
    array, value = tensors[name].copy(), rng.choice(NUMBERS)
    if not array.size:
        return "empty already"
    place = rng.randrange(array.size)
    with np.errstate(all="ignore"):
        array.reshape(-1)[place] = np.array(float(value)).astype(array.dtype)
    tensors[name] = array
    return f"value {place} = {value}"


def _order(rng: random.Random, tensors: Tensors, name: str) -> str:
    flat, shape = tensors[name].reshape(-1), tensors[name].shape
    what = rng.choice(["sorted", "reversed", "shuffled"])
    shuffled = np.random.default_rng(rng.randrange(2**32)).permutation(flat)
    tensors[name] = {"sorted": np.sort(flat), "reversed": flat[::-1], "shuffled": shuffled}[
        what
    ].reshape(shape)
    return what


def _shape(rng: random.Random, tensors: Tensors, name: str) -> str:
    array = tensors[name]
    changed = rng.choice(
        [array[:-1], array[:0], np.concatenate([array, array]), array.reshape(-1), array[None]]
        if array.ndim
        else [array[None]]
    )
    tensors[name] = changed
    return f"shape {changed.shape} instead of {array.shape}"


def _type(rng: random.Random, tensors: Tensors, name: str) -> str:
    dtype = rng.choice(DTYPES)
    with np.errstate(all="ignore"):
        tensors[name] = tensors[name].astype(dtype)
    return f"as {dtype}"


def _names(rng: random.Random, tensors: Tensors, name: str) -> str:
    what, other = (
        rng.choice(["removed", "renamed", "added", "swapped"]),
        rng.choice(sorted(tensors)),
    )
    if what == "removed":
        del tensors[name]
    elif what == "renamed":
        tensors[rng.choice([f"{name}2", f"table_{name}", "", "é\n"])] = tensors.pop(name)
    elif what == "added":
        tensors[f"{name}_more"] = tensors[name].copy()
    else:
        tensors[name], tensors[other] = tensors[other], tensors[name]
        what = f"swapped with {other}"
    return what


def _edit_trees(rng: random.Random, header: Header, tensors: Tensors) -> str:
    """Rewire the links of trees; other models have a tensor edited."""
    prefixes = [name.removesuffix("_left") for name in sorted(tensors) if name.endswith("_left")]
    if not prefixes:
        return _edit_tensors(rng, header, tensors)
    prefix = rng.choice(prefixes)
    rewire = rng.choice([_cycle, _outside, _shared_child, _one_path, _other_starts])
    return f"trees {prefix}: {rewire(rng, tensors, prefix)}"


def _inner(rng: random.Random, tensors: Tensors, prefix: str) -> int:
    """A node with children, if there is one."""
    inner = np.flatnonzero(tensors[f"{prefix}_left"] != -1)
    return int(rng.choice(inner)) if len(inner) else 0


def _set(tensors: Tensors, name: str, place: int, value: int) -> None:
    tensors[name] = tensors[name].copy()
    if place < len(tensors[name]):
        tensors[name][place] = value


def _cycle(rng: random.Random, tensors: Tensors, prefix: str) -> str:
    node, side = _inner(rng, tensors, prefix), rng.choice(["left", "right"])
    child = rng.choice([0, node, max(0, node - 1)])
    _set(tensors, f"{prefix}_{side}", node, child)
    return f"{side} of node {node} = {child}"


def _outside(rng: random.Random, tensors: Tensors, prefix: str) -> str:
    node, part = _inner(rng, tensors, prefix), rng.choice(["left", "right", "column"])
    value = rng.choice([-2, -1, -(2**31), 2**31 - 1, 10**6, len(tensors[f"{prefix}_left"])])
    _set(tensors, f"{prefix}_{part}", node, value)
    return f"{part} of node {node} = {value}"


def _shared_child(rng: random.Random, tensors: Tensors, prefix: str) -> str:
    tensors[f"{prefix}_right"] = tensors[f"{prefix}_left"].copy()
    return "right = left"


def _one_path(rng: random.Random, tensors: Tensors, prefix: str) -> str:
    """All trees but the first are leaves; that one is a path of many nodes."""
    n_trees = len(tensors[f"{prefix}_start"])
    n = rng.choice([50, 2000, LONG])
    node = np.arange(n, dtype=np.int32)
    left, right = node + 1, np.full(n, n - 1, np.int32)
    right[:-1] = rng.choice([n - 1, 0]) or node[:-1] + 1
    left[-1] = right[-1] = -1
    leaves = np.full(n_trees - 1, -1, np.int32)
    size = n + n_trees - 1
    tensors[f"{prefix}_left"] = np.concatenate([left, leaves])
    tensors[f"{prefix}_right"] = np.concatenate([right, leaves])
    tensors[f"{prefix}_column"] = np.zeros(size, np.int32)
    tensors[f"{prefix}_threshold"] = np.full(size, rng.choice([0.0, 1e300, -1e300]))
    tensors[f"{prefix}_value"] = np.linspace(0, 1, size)
    tensors[f"{prefix}_start"] = np.concatenate([[0], np.arange(n, size)]).astype(np.int64)
    return f"a path of {n:,} nodes"


def _other_starts(rng: random.Random, tensors: Tensors, prefix: str) -> str:
    start = tensors[f"{prefix}_start"].copy()
    place = rng.randrange(len(start))
    start[place] += rng.choice([1, -1, 2**40])
    tensors[f"{prefix}_start"] = start
    return f"start of tree {place} = {start[place]}"


EDITS = {
    "header": _edit_header,
    "tensors": _edit_tensors,
    "trees": _edit_trees,
    "scales": _edit_scales,
}


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:50]}... ({len(text):,} characters)"
