"""Algorithm 1 written plainly in PyTorch: the rival that `fit` is measured against."""

import numpy as np
import torch
from torch import nn


def fit(X: np.ndarray, y: np.ndarray, seed: int, n_steps: int = 50 * 20) -> nn.Module:
    """Train with the paper's settings: nn.Sequential, autograd, torch's RMSprop, draws per step."""
    torch.manual_seed(seed)
    generator = np.random.default_rng(seed)
    rows = torch.from_numpy(X)
    labelled, unlabelled = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    is_anomaly = torch.cat([torch.ones(256), torch.zeros(256)])
    network = nn.Sequential(nn.Linear(X.shape[1], 20), nn.ReLU(), nn.Linear(20, 1))
    for layer in (network[0], network[2]):
        nn.init.xavier_uniform_(layer.weight)
        nn.init.zeros_(layer.bias)
    optimizer = torch.optim.RMSprop(network.parameters(), lr=0.001, alpha=0.9, eps=1e-7)
    for _ in range(n_steps):
        drawn = np.concatenate([generator.choice(labelled, 256), generator.choice(unlabelled, 256)])
        reference = torch.randn(5000)
        scores = network(rows[drawn]).squeeze(1)
        deviation = (scores - reference.mean()) / reference.std(correction=0)
        loss = (1 - is_anomaly) * deviation.abs() + is_anomaly * (5 - deviation).clamp(min=0)
        total = loss.mean() + 0.01 * network[0].weight.square().sum()
        optimizer.zero_grad()
        total.backward()
        nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
    return network
