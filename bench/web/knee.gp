# SPDX-License-Identifier: Apache-2.0
# knee.gp - beyond the founding paper's rates, up to each server's knee. Variables:
# names, folder, out; see plot_knee() in lib/web.py.
set terminal svg size 1000,1100 background "white" font "sans,12"
set output out
set multiplot layout 3,1 title "connections of 5 requests x 10,000 bytes, server on one CPU"
set grid
set key outside right font ",10"
set xlabel "connections/s"
set logscale xy
file(s) = sprintf("%s/knee-%s.dat", folder, s)
set ylabel "replies/s"
plot for [s in names] file(s) using 1:2 with linespoints title s noenhanced
set ylabel "p99, us"
plot for [s in names] file(s) using 1:4 with linespoints title s noenhanced
unset logscale y
set yrange [0:*]
set ylabel "server CPU, us per request"
plot for [s in names] file(s) using 1:3 with linespoints title s noenhanced
unset multiplot
