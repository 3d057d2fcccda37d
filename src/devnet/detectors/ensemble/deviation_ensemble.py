"""DeviationEnsemble, the detector for tables: bagged deviation learners, one calibrated score."""

from devnet.detectors.ensemble.bagged_ensemble import BaggedEnsemble


class DeviationEnsemble(BaggedEnsemble):
    """Rank the rows of a table by deviation networks and deviation trees together.

    The paper learns scores end to end from balanced batches of few labelled anomalies and many
    unlabelled rows. Here networks on rank-normal columns, trained with the deviation loss, and
    trees, whose leaves are worth the margin times their share of anomalies, do so; PU trees of
    small unbalanced bags, with the best and with random cuts, vote too. Each member learns from its
    own bag. Scores by members that did not see a row weigh the votes, turn them into one deviation,
    and give the p-values, the share of hidden anomalies and the expected quality.

    A typical unlabelled row scores 0, and 1 is the spread of these rows. The scale is not Gaussian:
    read significance from `p_value`. Columns need no scaling.

    Sparse rows of 4,096 columns or more have their own learner, without networks, trees, margin or
    random draws: it tests every column separately and adds up the tests of a row's columns. Where
    `layout` says that some columns belong to a text, each text has such a learner of its own,
    next to the networks and trees of all other columns.

    Parameters
    ----------
    n_networks : int, default=10
        Deviation networks of 20 hidden units.
    n_trees : int, default=64
        Balanced trees, and as many PU trees with random cuts; half as many more with the best cuts.
    margin : float, default=5.0
        Deviation that labelled anomalies should reach in every member; the paper's a.
    confidence : float, default=0.95
        Sets `threshold_`: an unlabelled row stays below it with this probability. n unlabelled
        rows support at most n / (n + 1); beyond that, the threshold is their highest score.
    pos_label : optional
        The value of y that marks an anomaly; by default the larger of its two values.
    normal_label : optional
        The value of y that marks rows known to be normal, such as dismissed alerts.
    layout : Layout, optional
        Which columns of X belong together, such as the values of one category. `TableModel` sets
        it; without one, every column is on its own.
    random_state : int, numpy RandomState or Generator, optional
        Seed of all random draws. Results do not depend on the number of processor cores.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The values of y for unlabelled rows and for anomalies.
    threshold_ : float
        Anomaly score above which `predict` reports an anomaly.
    hidden_anomaly_share_ : HiddenShare
        Share of anomalies hidden among the unlabelled rows: value, low and high. It is an
        overestimate where other rows look like anomalies. With fewer than five labelled anomalies
        nothing is known about it: 0, 0 and 1.
    column_importance_ : array of shape (n_columns,)
        Mean absolute contribution of each column to the scores of labelled anomalies; sums to 1.
    out_of_bag_ : OutOfBag
        Scores of the pool's rows and of the labelled anomalies by members that did not see them.
    pool_, posterior_ : arrays of shape (n_pool,)
        Indices of the unlabelled and known normal rows that were learned from, at most 20,000,
        and the probability that each is a hidden anomaly: 0 for a known normal row.
    normals_ : array of shape (n_normal,)
        Positions of the known normal rows in `pool_`.
    learners_ : TableLearners, WideLearners or MixedLearners
        What was learned, and its `baseline`.
    n_features_in_ : int
    feature_names_in_ : array of str
        Only if X had column names.

    Examples
    --------
    >>> import numpy as np
    >>> from devnet import DeviationEnsemble
    >>> rows = np.random.default_rng(0).normal(size=(1000, 5))
    >>> rows[:10] += 3                          # ten anomalies ...
    >>> y = np.zeros(1000)
    >>> y[:5] = 1                               # ... of which five are known
    >>> model = DeviationEnsemble(random_state=0).fit(rows, y)
    >>> bool(model.p_value(rows[5:10]).max() < 0.01)
    True
    """

    @classmethod
    def _half_kind(cls) -> None:
        return None
