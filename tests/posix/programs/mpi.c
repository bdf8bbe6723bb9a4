/* SPDX-License-Identifier: Apache-2.0 */
/* MPI_THREAD_MULTIPLE: thread i of each process sends to thread i of the next process,
 * all threads at once. The first process prints the sum that each thread received. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS 8
#define ROUNDS 50
#define BIG 20000 /* values: more than one packet holds */

static int rank, ranks;
static long got[THREADS];

static void *talks(void *arg)
{
	int me = (int)(long)arg, next = (rank + 1) % ranks,
	    prev = (rank + ranks - 1) % ranks;
	int *out = malloc(BIG * sizeof(int)), *in = malloc(BIG * sizeof(int));
	MPI_Request reqs[2];

	for (int n = 0; n < ROUNDS; n++) {
		int len = n % 10 ? 10 : BIG;

		for (int i = 0; i < len; i++)
			out[i] = rank * 1000 + me + n;
		MPI_Irecv(in, len, MPI_INT, prev, me, MPI_COMM_WORLD, &reqs[0]);
		MPI_Isend(out, len, MPI_INT, next, me, MPI_COMM_WORLD, &reqs[1]);
		MPI_Waitall(2, reqs, MPI_STATUSES_IGNORE);
		for (int i = 0; i < len; i++)
			got[me] += in[i] != prev * 1000 + me + n;
		got[me] += (long)in[len - 1] << 8;
	}
	free(out);
	free(in);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t all[THREADS];
	long sum[THREADS];
	int level;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	for (long i = 0; i < THREADS; i++)
		if (pthread_create(&all[i], NULL, talks, (void *)i))
			MPI_Abort(MPI_COMM_WORLD, 1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(all[i], NULL);
	MPI_Reduce(got, sum, THREADS, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	if (!rank) {
		printf("multiple %d\n", level == MPI_THREAD_MULTIPLE);
		for (int i = 0; i < THREADS; i++)
			printf("%d: %ld\n", i, sum[i]);
	}
	MPI_Finalize();
	return 0;
}
