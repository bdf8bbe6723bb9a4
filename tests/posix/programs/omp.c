/* SPDX-License-Identifier: Apache-2.0 */
/* OpenMP: reductions, nested regions, tasks, ordered, locks. */
#include <omp.h>
#include <stdio.h>

static long fib(int n)
{
	long a, b;

	if (n < 2)
		return n;
#pragma omp task shared(a) if (n > 12)
	a = fib(n - 1);
#pragma omp task shared(b) if (n > 12)
	b = fib(n - 2);
#pragma omp taskwait
	return a + b;
}

int main(void)
{
	long sum = 0, nested = 0, f = 0, last = -1, in_order = 1;

	omp_set_max_active_levels(2);
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 100) num_threads(8)
	for (long i = 0; i < 100000; i++)
		sum += i;
#pragma omp parallel num_threads(4)
#pragma omp parallel num_threads(3)
#pragma omp atomic
	nested++;
#pragma omp parallel num_threads(4)
#pragma omp single
	f = fib(22);
#pragma omp parallel for ordered num_threads(4)
	for (long i = 0; i < 500; i++) {
#pragma omp ordered
		{
			in_order &= i == last + 1;
			last = i;
		}
	}
	for (int round = 0; round < 200; round++)
#pragma omp parallel num_threads(6)
	{
#pragma omp barrier
	}
	printf("%ld %ld %ld %ld\n", sum, nested, f, in_order);
	return 0;
}
