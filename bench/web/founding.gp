# SPDX-License-Identifier: Apache-2.0
# founding.gp - throughput over the connection rate, as in the paper's figures 4 (one
# CPU) and 5 (two). Variables: cpus, names, kind, folder, out; see plot() in lib/web.py.
if (kind eq "svg") set terminal svg size 1000,1100 background "white" font "sans,12"
if (kind eq "png") set terminal pngcairo size 1000,1100 font "sans,11"
set output out
set multiplot layout 3,2 title sprintf("3,000 connections x 5 requests x 10,000 bytes, server on %s CPU", cpus)
set grid
set key bottom right font ",10"
set xlabel "connections/s"
file(s) = sprintf("%s/%scpu-%s.dat", folder, cpus, s)

set xrange [0:130]
set yrange [0:*]
set ylabel "Net I/O, KB/s"
plot for [s in names] file(s) using 1:3 with linespoints title s noenhanced
set ylabel "replies/s"
plot for [s in names] file(s) using 1:2 with linespoints title s noenhanced

set xrange [100:4000]
set logscale xy
set yrange [*:*]
set ylabel "Net I/O, KB/s"
plot for [s in names] file(s) using 1:3 with linespoints title s noenhanced
set ylabel "replies/s"
plot for [s in names] file(s) using 1:2 with linespoints title s noenhanced

unset logscale
set yrange [0:*]
set ylabel "server CPU, us per request"
set xrange [0:130]
plot for [s in names] file(s) using 1:4 with linespoints title s noenhanced
set logscale x
set xrange [100:4000]
plot for [s in names] file(s) using 1:4 with linespoints title s noenhanced
unset multiplot
