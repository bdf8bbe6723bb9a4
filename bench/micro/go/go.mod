module ukthreads.org/bench/micro

go 1.24
