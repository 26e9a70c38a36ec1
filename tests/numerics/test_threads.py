from __future__ import annotations

import os
import subprocess
import sys
import threading

import pytest

# BLAS needs more than one thread to start with, whatever the tests run on.
SCRIPT = """
import threading
from threadpoolctl import threadpool_info
from cvxlink.numerics.threads import on_threads

def blas():
    return sorted({library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"})

before = blas()
first, second = on_threads(1), on_threads(1)
entered, leave = threading.Event(), threading.Event()

def other():
    with second:
        entered.set()
        leave.wait()

first.__enter__()
thread = threading.Thread(target=other)
thread.start()
entered.wait()
first.__exit__(None, None, None)
assert blas() == [1], "the other thread still wants one"
leave.set()
thread.join()
assert before == blas() != [1]
with on_threads(2):
    with on_threads(1):
        assert blas() == [1]
    assert blas() == [2]
assert before == blas()
print("restored")
"""


@pytest.mark.slow
@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="BLAS has one thread only on one core")
def test_overlapping_limits_leave_no_trace():
    variables = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(variables, "3"), "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "restored\n", done.stderr


def test_many_threads_at_once_restore_the_number():
    from cvxlink.numerics.threads import on_threads, threads_in_use

    before = threads_in_use()

    def enter_and_leave():
        for _ in range(50):
            with on_threads(1):
                pass

    threads = [threading.Thread(target=enter_and_leave) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert threads_in_use() == before
