"""Fitting and scoring on a Dask cluster: a table's parts, whatever dies meanwhile."""

from devnet.serving.cluster.client import joined_cluster, local_cluster
from devnet.serving.cluster.fitting import fit_on_cluster
from devnet.serving.cluster.job import score_on_cluster
from devnet.serving.cluster.manifest import ScoredFolder

__all__ = [
    "ScoredFolder",
    "fit_on_cluster",
    "joined_cluster",
    "local_cluster",
    "score_on_cluster",
]
