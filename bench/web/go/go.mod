module ukthreads.org/bench/web

go 1.24
