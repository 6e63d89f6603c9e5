"""FT-Transformer with encodings as one would write it first: the reference of bench/training.py.

One model per alpha, three separate q/k/v layers, a DataLoader of single rows, AdamW in its default
form. Modules and defaults are those of torch; nothing is shared between alphas.
"""

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset


class Attention(nn.Module):
    """Multi-head attention with three separate input layers."""

    def __init__(self, width: int, n_heads: int, dropout: float) -> None:
        super().__init__()
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in range(4))
        self.dropout = nn.Dropout(dropout)
        self.n_heads = n_heads

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def forward(self, queries: Tensor, x: Tensor) -> Tensor:
        """Attention of the queries to (B, tokens, width)."""
        q, k, v = self._split(self.q(queries)), self._split(self.k(x)), self._split(self.v(x))
        weights = torch.softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5, dim=-1)
        mixed = self.dropout(weights) @ v
        return self.out(mixed.transpose(1, 2).flatten(2))


class Block(nn.Module):
    """Attention and ReGLU part with their norms."""

    def __init__(self, width: int, *, first: bool, last: bool) -> None:
        super().__init__()
        hidden = int(width * 4 / 3)
        self.attention_norm = nn.Identity() if first else nn.LayerNorm(width)
        self.attention = Attention(width, n_heads=8, dropout=0.2)
        self.ffn_norm = nn.LayerNorm(width)
        self.first, self.second = nn.Linear(width, 2 * hidden), nn.Linear(hidden, width)
        self.dropout = nn.Dropout(0.1)
        self.last = last

    def forward(self, x: Tensor) -> Tensor:
        """(B, tokens, width) to the same shape, or to CLS alone in the last block."""
        normed = self.attention_norm(x)
        if self.last:
            x = x[:, :1] + self.attention(normed[:, :1], normed)
        else:
            x = x + self.attention(normed, normed)
        value, gate = self.first(self.ffn_norm(x)).chunk(2, dim=-1)
        return x + self.second(self.dropout(value * F.relu(gate)))


class PlainTransformer(nn.Module):
    """FT-Transformer for numeric features with encodings beside the tokens."""

    def __init__(self, encoding: Tensor, alpha: float, n_outputs: int, width: int = 192) -> None:
        super().__init__()
        n_features, d_pe = encoding.shape
        own = width - d_pe
        self.register_buffer("encoding", alpha * encoding)
        self.weight = nn.Parameter(torch.empty(n_features, own).uniform_(-(own**-0.5), own**-0.5))
        self.bias = nn.Parameter(torch.empty(n_features, own).uniform_(-(own**-0.5), own**-0.5))
        self.cls = nn.Parameter(torch.empty(1, own).uniform_(-(own**-0.5), own**-0.5))
        self.blocks = nn.Sequential(
            *(Block(width, first=layer == 0, last=layer == 2) for layer in range(3))
        )
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, n_outputs)

    def forward(self, x: Tensor) -> Tensor:
        """(B, features) to (B, n_outputs)."""
        tokens = x[:, :, None] * self.weight + self.bias
        tokens = torch.cat([tokens, self.encoding.expand(len(x), -1, -1)], dim=-1)
        cls = F.pad(self.cls, (0, self.encoding.shape[1])).expand(len(x), 1, -1)
        x = self.blocks(torch.cat([cls, tokens], dim=1))[:, 0]
        return self.head(F.relu(self.norm(x)))


class PlainLoop:
    """Training of one alpha, epoch by epoch."""

    def __init__(
        self, x: Tensor, y: Tensor, encoding: Tensor, alpha: float, n_outputs: int
    ) -> None:
        torch.manual_seed(1)
        self.model = PlainTransformer(encoding, alpha, n_outputs)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, weight_decay=1e-5)
        self.loader = DataLoader(TensorDataset(x, y), batch_size=32, shuffle=True)

    def train_epoch(self) -> float:
        """Train on every row once; the mean loss."""
        self.model.train()
        total = 0.0
        for x, y in self.loader:
            self.optimizer.zero_grad()
            loss = F.cross_entropy(self.model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            total += loss.item() * len(x)
        return total / len(self.loader.dataset)  # type: ignore[arg-type]
