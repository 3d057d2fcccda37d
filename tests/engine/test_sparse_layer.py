"""A sparse first layer computes what a dense one does, for the columns that occur."""

import numpy as np
import scipy.sparse as sp

from devnet.engine.scoring_network import ScoringNetwork
from devnet.engine.sparse_layer import SparseKernel


def sparse_rows(seed, n=7, d=40, density=0.1):
    generator = np.random.default_rng(seed)
    return sp.random_array((n, d), density=density, format="csr", dtype=np.float32, rng=generator)


def networks(rows, seed):
    """The same network with a dense and with a sparse first kernel."""
    dense = ScoringNetwork.initialise((rows.shape[1], 4, 1), [np.random.default_rng(seed)])
    columns = np.unique(rows.indices).astype(np.int64)
    first = SparseKernel(columns, dense._kernels[0][:, columns].copy(), rows.shape[1])
    first = first.start_training(columns, [])
    n_kernel = rows.shape[1] * 4
    sparse = ScoringNetwork(dense.sizes, dense.parameters[:, n_kernel:].copy(), first_kernel=first)
    return dense, sparse


def test_forward_and_backward_equal_a_dense_layer(seed):
    rows = sparse_rows(seed)
    slope = np.random.default_rng(seed).normal(size=(1, 7, 1)).astype(np.float32)
    dense, sparse = networks(rows, seed)
    outputs, tape = dense.forward(rows.toarray()[None])
    found, sparse_tape = sparse.forward([rows])
    np.testing.assert_allclose(found, outputs, rtol=1e-5, atol=1e-6)
    gradient, sparse_gradient = dense.new_gradient(), sparse.new_gradient()
    dense.backward(tape, slope.copy(), gradient)
    sparse.backward(sparse_tape, slope.copy(), sparse_gradient)
    (columns,) = sparse_gradient.columns
    np.testing.assert_allclose(
        columns.slope,
        gradient.kernels[0][0][sparse.first_kernel.columns[columns.touched]],
        rtol=1e-4,
        atol=1e-6,
    )
    np.testing.assert_allclose(sparse_gradient.dense, gradient.dense[:, 160:], rtol=1e-4, atol=1e-6)


def test_unknown_columns_weigh_nothing(seed):
    rows = sparse_rows(seed)
    _, sparse = networks(rows, seed)
    known, _ = sparse.forward([rows])
    sparse.end_training()
    np.testing.assert_allclose(sparse.forward([rows])[0], known, rtol=1e-6)
    wide = rows.tolil()
    unknown = np.setdiff1d(np.arange(40), sparse.first_kernel.columns)
    wide[:, unknown] = 9
    found, _ = sparse.forward([wide.tocsr().astype(np.float32)])
    np.testing.assert_allclose(found, known, rtol=1e-6)


def test_a_kernel_without_columns_gives_zero():
    kernel = SparseKernel.empty(2, 40, 4, is_penalised=True)
    products, _ = kernel.forward([sparse_rows(0)])
    assert products.shape == (2, 7, 4)
    assert not products.any()


def test_weights_are_drawn_when_a_column_is_first_touched(seed):
    kernel = SparseKernel.empty(1, 40, 4, is_penalised=True)
    generators = [np.random.default_rng(seed)]
    started = kernel.start_training(np.arange(40), generators)
    assert not started.kernel.any()
    rows = sparse_rows(seed)
    started.forward([rows])
    touched = np.unique(rows.indices)
    assert started.kernel[0][touched].all()
    assert np.abs(started.kernel).max() <= np.sqrt(6 / 44)
    assert not np.delete(started.kernel[0], touched, axis=0).any()
    started.end_training()
    started.forward([sparse_rows(seed + 1)])
    assert not np.delete(started.kernel[0], touched, axis=0).any()


def test_going_on_keeps_known_columns_and_adds_new_ones():
    columns = np.array([3, 7])
    kernel = SparseKernel(columns, np.ones((1, 2, 4), dtype=np.float32), 10)
    started = kernel.start_training(np.array([7, 8]), [np.random.default_rng(0)])
    np.testing.assert_array_equal(started.columns, [3, 7, 8])
    np.testing.assert_array_equal(started.kernel[0].sum(1), [4, 4, 0])
    assert kernel.kernel.shape == (1, 2, 4)
