"""Graph tests run on one BLAS thread: matrices this small only lose time to more."""

import pytest
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True)
def _one_blas_thread():
    import scipy.linalg  # noqa: F401  (loads the BLAS that is limited)

    with threadpool_limits(limits=1, user_api="blas"):
        yield
