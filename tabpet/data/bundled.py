"""Tables that need no network: three that ship with scikit-learn, and tic-tac-toe, played out."""

import pandas as pd
from sklearn import datasets

from tabpet.errors import TabpetError

LINES = (
    (0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6),
)  # fmt: skip
SQUARES = [
    f"{row}-{column}-square"
    for row in ("top", "middle", "bottom")
    for column in ("left", "middle", "right")
]


def load_bundled(name: str) -> pd.DataFrame:
    """A bundled table by the name in the catalog, target column last."""
    loaders = {
        "demo-breast-cancer": lambda: _from_sklearn(datasets.load_breast_cancer(as_frame=True)),
        "demo-wine": lambda: _from_sklearn(datasets.load_wine(as_frame=True)),
        "demo-diabetes": lambda: _from_sklearn(datasets.load_diabetes(as_frame=True, scaled=False)),
        "demo-tic-tac-toe": play_tic_tac_toe,
    }
    if name not in loaders:
        raise TabpetError(f"There is no bundled table {name!r}. There are: {', '.join(loaders)}.")
    return loaders[name]()


def play_tic_tac_toe() -> pd.DataFrame:
    """All 958 final boards of tic-tac-toe when x moves first; class: did x win? (the UCI table)."""
    seen: set[str] = set()
    _play("b" * 9, "x", seen)
    finals = [board for board in seen if _is_final(board)]
    boards = sorted(finals, key=lambda board: (not _has_won(board, "x"), board))
    frame = pd.DataFrame([list(board) for board in boards], columns=SQUARES)
    won = ["positive" if _has_won(board, "x") else "negative" for board in boards]
    return frame.assign(Class=won).astype("category")


def _play(board: str, player: str, seen: set[str]) -> None:
    """Add every board that can be reached from `board` with `player` to move."""
    if board in seen:
        return
    seen.add(board)
    for square in range(9):
        if board[square] == "b" and not _is_final(board):
            moved = board[:square] + player + board[square + 1 :]
            _play(moved, "o" if player == "x" else "x", seen)


def _is_final(board: str) -> bool:
    return _has_won(board, "x") or _has_won(board, "o") or "b" not in board


def _has_won(board: str, player: str) -> bool:
    return any(all(board[square] == player for square in line) for line in LINES)


def _from_sklearn(bunch: "datasets.Bunch") -> pd.DataFrame:
    frame: pd.DataFrame = bunch.frame
    if "target_names" in bunch:
        names = dict(enumerate(map(str, bunch.target_names)))
        frame["target"] = frame["target"].map(names).astype("category")
    if "sex" in frame:
        frame["sex"] = frame["sex"].astype(int).astype("category")
    return frame
