# SPDX-License-Identifier: Apache-2.0
# tables.R - R: data.table uses OpenMP, and the package parallel forks processes beside it
library(data.table)
library(parallel)
setDTthreads(8)
n <- 500000L
t <- data.table(k = (seq_len(n) * 7919L) %% 1000L, v = seq_len(n) %% 17L)
print(t[, .(sum = sum(v), n = .N), by = k][order(k)][1:5])
setorder(t, v, -k)
print(t[c(1, 1000, n)])
fwrite(t, "t.csv")
print(identical(fread("t.csv"), t[, .(k, v)]))
print(sum(unlist(mclapply(1:20, function(i) sum(t[k == i]$v), mc.cores = 4))))
print(t[, .N, by = v][order(v)]$N)
