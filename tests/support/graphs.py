"""Graphs that are built and run in memory."""

import numpy as np
import onnx
import onnxruntime

from devnet.serving.onnx.graph import BOOLEAN, Graph


def session(graph_or_bytes, n_threads=1):
    """A graph, checked by the rules of ONNX, as onnxruntime runs it."""
    content = graph_or_bytes
    if isinstance(content, Graph):
        content = content.model("test", {}).SerializeToString()
    onnx.checker.check_model(content, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = n_threads
    return onnxruntime.InferenceSession(content, options, ["CPUExecutionProvider"])


def run(graph, value, kind, arrays, n_threads=1):
    """One value of a graph."""
    graph.output("found", value, kind)
    return session(graph, n_threads).run(None, arrays)[0]


def within(found, expected):
    """Whether scores are as near as the graph promises: 1e-5, relative where they are large."""
    return np.abs(found - expected) <= 1e-5 * np.maximum(1, np.abs(expected))


def check_meaning(p_values, is_alert, scores, ranks, threshold):
    """P-values and alerts are those of scores that differ by rounding."""
    leeway = 1e-5 * np.maximum(1, np.abs(scores))
    lowest, highest = ranks.p_value(scores + leeway), ranks.p_value(scores - leeway)
    assert ((lowest <= p_values) & (p_values <= highest)).all()
    is_clear = np.abs(scores - threshold) > leeway
    np.testing.assert_array_equal(is_alert[is_clear], (scores > threshold)[is_clear])


__all__ = ["BOOLEAN", "check_meaning", "run", "session", "within"]
