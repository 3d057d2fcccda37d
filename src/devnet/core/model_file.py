"""A model on disk: one safetensors file with readable JSON in its header. No pickle.

Reading trusts nothing: a truncated, foreign, newer, damaged or edited file raises a clear error.
A file is read, never mapped: a mapped one that somebody truncates ends the process.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import is_dataclass
from importlib.metadata import PackageNotFoundError, version
from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as from_bytes
from safetensors.numpy import save as to_bytes

from devnet.core.arrays import is_module
from devnet.core.checksum import CHECKSUM, checksum
from devnet.core.parameters import number
from devnet.core.whole_file import write_whole
from devnet.core.wording import cut

FORMAT = "devnet model"
FORMAT_VERSION = 1
CLASSES_DTYPES = frozenset(
    ["bool", "str", "object", "float16", "float32", "float64"]
    + [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
)
MAX_COUNT = 2**62
MAX_ECHO = 200  # characters of a file that an error repeats
HEADER = "devnet"  # key of the JSON text in the safetensors metadata
LARGEST_LAYOUT = 100_000_000  # bytes at the start of a file that say what is in it
PACKAGES = {
    "devnet": "deviation-network",
    "numpy": "numpy",
    "scikit-learn": "scikit-learn",
    "torch": "torch",
    "pyarrow": "pyarrow",
}


class ModelFileError(ValueError):
    """A model file that cannot be used; the message says why and what to do."""


def write(
    path: str | PathLike[str], header: dict[str, Any], tensors: dict[str, np.ndarray]
) -> None:
    """Write atomically: the file appears under its name only when it is complete."""
    write_whole(Path(path), pack(header, tensors))


def pack(header: dict[str, Any], tensors: dict[str, np.ndarray]) -> bytes:
    """The contents of a model file."""
    full = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        **header,
        "versions": package_versions(),
    }
    arrays = {name: np.ascontiguousarray(array) for name, array in tensors.items()}
    as_read = json.loads(json.dumps(full, allow_nan=False))
    text = json.dumps({**as_read, CHECKSUM: checksum(as_read, arrays)})
    packed: bytes = to_bytes(arrays, metadata={HEADER: text})
    return packed


def read(path: str | PathLike[str]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and tensors of a model file, if its format is known and its checksum is right.

    Files of version 0.1.0 have no checksum.
    """
    with _opened(Path(path)) as file:
        return _contents(file, path)


def contents(path: str | PathLike[str]) -> bytes:
    """The bytes of a model file, to send elsewhere; `unpack` checks them."""
    with _opened(Path(path)) as file:
        return file.read()


def unpack(packed: bytes, name: str = "the model") -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Header and tensors of the contents of a model file, as `read` has them."""
    with _complete(name), BytesIO(packed) as file:
        return _contents(file, name)


def _contents(file: BinaryIO, name: Any) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    header, start = _read_header(file, name)
    tensors = from_bytes(start + file.read())
    if CHECKSUM in header and not _is_intact(header, tensors):
        raise ModelFileError(
            f"{name} does not match its checksum: the file was damaged or edited. Copy it again "
            "from its source, or save the model again."
        )
    return header, tensors


def read_header(path: str | PathLike[str]) -> dict[str, Any]:
    """The header of a model file, if its format is known; nothing else is checked."""
    with _opened(Path(path)) as file:
        return _read_header(file, path)[0]


@contextmanager
def _opened(path: Path) -> Iterator[BinaryIO]:
    """A model file to read from; one that is not there or not complete raises a clear error."""
    if path.is_symlink() and not path.exists():
        raise FileNotFoundError(
            f"{path} is a link to {path.readlink()}, which does not exist; mend the link, or give "
            "the model file itself."
        )
    if not path.exists():
        raise FileNotFoundError(
            f"there is no model file {path}; give the name under which a model was saved."
        )
    if path.is_dir():
        raise ModelFileError(f"{path} is a folder, not a model; give the name of a model file.")
    if not path.is_file():
        raise ModelFileError(
            f"{path} is a pipe or device, not a file; give the name of a model file."
        )
    with _complete(path), path.open("rb") as file:
        yield file


@contextmanager
def _complete(name: Any) -> Iterator[None]:
    """Turn whatever goes wrong while a model file is read into a clear error."""
    try:
        yield
    except (SafetensorError, OSError, *_WRONG_TYPES) as error:
        if isinstance(error, ModelFileError):
            raise
        raise ModelFileError(
            f"{name} is not a complete model file ({cut(str(error), MAX_ECHO)}). Copy it again "
            "from its source, or save the model again."
        ) from error


_WRONG_TYPES = (TypeError, ValueError, AttributeError, KeyError, IndexError, RecursionError)


def _read_header(file: BinaryIO, name: Any) -> tuple[dict[str, Any], bytes]:
    """The header of a model file, and the bytes that it was in."""
    start, metadata = _read_start(file)
    return _parse_header(name, metadata.get(HEADER)), start


def _read_start(file: BinaryIO) -> tuple[bytes, dict[str, Any]]:
    """The start of a safetensors file, which says what follows, and the metadata that it has.

    Raises one of `_WRONG_TYPES`, before anything large is read, unless the file is complete.
    """
    length = file.read(8)
    size = int.from_bytes(length, "little")
    if size > LARGEST_LAYOUT:
        raise ValueError("it does not begin like one")
    text = file.read(size)
    layout = json.loads(text.decode())
    metadata = layout.pop("__metadata__", {})
    n_bytes = max((entry["data_offsets"][1] for entry in layout.values()), default=0)
    position = file.tell()
    expected, found = len(length) + size + n_bytes, file.seek(0, os.SEEK_END)
    file.seek(position)
    if found != expected:
        raise ValueError(f"it has {found:,} bytes instead of {expected:,}")
    return length + text, metadata


def _is_intact(header: dict[str, Any], tensors: dict[str, np.ndarray]) -> bool:
    try:
        return bool(header[CHECKSUM] == checksum(header, tensors))
    except RecursionError:
        raise ModelFileError("the model file has a header that is nested too deeply.") from None


def _parse_header(path: Any, text: str | None) -> dict[str, Any]:
    if text is None:
        raise ModelFileError(
            f"{path} is a safetensors file, but not a devnet model; was it saved by another "
            "program?"
        )
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(
            f"the header of {path} is not valid JSON ({error}); the file was edited or damaged."
        ) from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise ModelFileError(f"{path} is not a devnet model: its header does not say {FORMAT!r}.")
    found = header.get("format_version")
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise ModelFileError(f"{path} has the impossible format version {_short(found)}.")
    if found > FORMAT_VERSION:
        raise ModelFileError(
            f"{path} has format version {_short(found)}, newer than the {FORMAT_VERSION} known "
            "here. Upgrade with: pip install --upgrade deviation-network"
        )
    return header


def field(header: dict[str, Any], name: str, is_valid: Callable[[Any], bool]) -> Any:
    """Value of a header field, if it is valid."""
    value = header.get(name)
    if not is_valid(value):
        raise ModelFileError(
            f"the model file's header has no valid {name!r}: {_short(value)}. The file was edited "
            "or damaged; save the model again."
        )
    return value


def tensor(
    tensors: dict[str, np.ndarray],
    name: str,
    shape: tuple[int, ...],
    dtype: str = "float32",
    largest: float = np.inf,
) -> np.ndarray:
    """Named tensor, if it has exactly this shape and type, and no value beyond the largest."""
    array = tensors.get(name)
    if array is None or array.shape != shape or array.dtype.name != dtype:
        found = "none" if array is None else f"{array.dtype.name} of shape {array.shape}"
        raise ModelFileError(
            f"the model file should hold a tensor {name!r}, {dtype} of shape {shape}, but has "
            f"{found}. The file was edited or damaged; save the model again."
        )
    if not np.isfinite(array).all():
        raise ModelFileError(
            f"the tensor {name!r} of the model file has values that are not finite."
        )
    if array.size and largest < np.inf and max(array.max(), -array.min()) > largest:
        raise edited(f"the tensor {name!r}", f"it has values beyond {largest:.0e}")
    return array


def size_of(tensors: dict[str, np.ndarray], name: str) -> int:
    """Number of values of a named tensor, 0 if it is missing."""
    return tensors[name].size if name in tensors else 0


def ascends(numbers: np.ndarray, *, strictly: bool = True) -> bool:
    """Whether numbers of a model file are in order; their differences may overflow."""
    before, after = numbers[:-1], numbers[1:]
    return bool((before < after).all() if strictly else (before <= after).all())


def edited(what: str, reason: str) -> ModelFileError:
    """The error to raise for a part of a model file that `save` cannot have written."""
    return ModelFileError(
        f"{cut(what, MAX_ECHO)} of the model file cannot be used: {cut(reason, MAX_ECHO)}. The "
        "file was edited or damaged; save the model again."
    )


def refuse_unknown(tensors: dict[str, np.ndarray], known: Iterable[str]) -> None:
    """Refuse a file that holds more than it should."""
    unknown = set(tensors) - set(known)
    if unknown:
        raise ModelFileError(f"the model file holds an unknown tensor {_short(min(unknown))}.")


def is_count(value: Any, least: int = 1, most: int = MAX_COUNT) -> bool:
    """Whether a JSON value is a whole number within bounds."""
    return type(value) is int and least <= value <= most


def is_text(value: Any) -> bool:
    """Whether a value of a header is a text that Arrow can hold and a page can show."""
    return isinstance(value, str) and not any("\ud800" <= sign <= "\udfff" for sign in value)


def is_texts(value: Any) -> bool:
    """Whether a value of a header is a list of texts."""
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def is_finite_number(value: Any) -> bool:
    """Whether a JSON value is a number that a float can hold."""
    return number().accepts(value)


def encode_parameters(parameters: dict[str, Any]) -> dict[str, Any]:
    """Constructor parameters as JSON values.

    The device belongs to a machine, not to a model: another machine may have no CUDA.
    """
    return {name: _encode(value) for name, value in parameters.items() if name != "device"}


def decode_parameters(parameters: dict[str, Any], kinds: Mapping[str, Any]) -> dict[str, Any]:
    """Invert `encode_parameters`, given the dataclasses that parameters may be, by name."""
    try:
        return {name: _decode(value, kinds) for name, value in parameters.items()}
    except RecursionError:
        raise ModelFileError("the model file has a parameter that is nested too deeply.") from None


def _encode(value: Any) -> Any:
    if is_dataclass(value):
        return {type(value).__name__: [_encode(part) for part in vars(value).values()]}
    if is_module(value):
        return {"module": type(value).__name__}
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return None  # the state of a generator is not a parameter
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, tuple | list):
        return [_encode(item) for item in value]
    return value


def _decode(value: Any, kinds: Mapping[str, Any]) -> Any:
    if isinstance(value, list):
        return tuple(_decode(item, kinds) for item in value)
    if isinstance(value, dict):
        if len(value) == 1 and set(value) <= set(kinds):
            ((kind, parts),) = value.items()
            try:
                return kinds[kind](*(_decode(part, kinds) for part in parts))
            except (TypeError, ValueError) as error:
                if isinstance(error, ModelFileError):
                    raise
                reason = cut(str(error), MAX_ECHO)
                raise ModelFileError(
                    f"the model file has an impossible {kind}: {reason}"
                ) from error
        if list(value) == ["module"]:
            return value
        raise ModelFileError(f"the model file has a parameter of an unknown kind: {_short(value)}.")
    return value


def package_versions() -> dict[str, str]:
    """Versions of the packages that a model depends on."""
    return {name: _version(package) for name, package in PACKAGES.items()}


def _short(value: Any) -> str:
    return cut(repr(value), 80)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "unknown"
