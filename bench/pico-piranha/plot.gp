# SPDX-License-Identifier: Apache-2.0
# pages/s, MB/s and CPU per page over the page size, with a line for each kind of
# thread.
set terminal svg size 1200,420 font "sans,13" background rgb "white"
set output picture
set multiplot layout 1,3 title sprintf("Piranha, one thread per URL, %d ms of network delay", delay)
set logscale x
set xlabel "page size, KB"
set xtics ("1" 1, "3" 3, "10" 10, "30" 30, "100" 100)
set grid
set key top right
set yrange [0:*]
stats table using 1 nooutput
set ylabel "pages/s"
plot for [i=0:STATS_blocks-1] table index i using 1:2 with linespoints lw 2 pt (5 + 2 * i) title columnheader(1)
set key top left
set ylabel "MB/s"
plot for [i=0:STATS_blocks-1] table index i using 1:3 with linespoints lw 2 pt (5 + 2 * i) title columnheader(1)
set ylabel "CPU, us/page"
plot for [i=0:STATS_blocks-1] table index i using 1:4 with linespoints lw 2 pt (5 + 2 * i) title columnheader(1)
