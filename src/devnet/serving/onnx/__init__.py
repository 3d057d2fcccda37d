"""Models as ONNX graphs: written with `onnx`, run by onnxruntime, in any language."""

try:
    import onnx as _  # noqa: F401
except ImportError:  # pragma: no cover - an installation without extras
    raise ImportError(
        "exporting to ONNX needs more packages: pip install 'deviation-network[onnx,tables]'"
    ) from None

from devnet.serving.onnx.export_error import ExportError
from devnet.serving.onnx.exported import ExportedModel
from devnet.serving.onnx.exporting import ExportedFile, export

__all__ = ["ExportError", "ExportedFile", "ExportedModel", "export"]
