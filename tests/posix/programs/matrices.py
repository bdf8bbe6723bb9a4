# SPDX-License-Identifier: Apache-2.0
"""matrices.py - NumPy in several threads, on OpenBLAS, which has its own thread pool."""
import concurrent.futures

import numpy as np


def product(seed):
    a = (np.arange(400 * 400) * seed % 101).reshape(400, 400).astype(np.float64)
    return int((a @ a.T).trace()), int((a.T @ a).sum())


def main():
    with concurrent.futures.ThreadPoolExecutor(6) as pool:
        for each in pool.map(product, range(1, 25)):
            print(each)
    print(np.linalg.matrix_rank(np.eye(300)))


if __name__ == "__main__":
    main()
