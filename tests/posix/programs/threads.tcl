# SPDX-License-Identifier: Apache-2.0
# threads.tcl - Tcl: each thread has an interpreter; messages between threads
package require Thread

set threads {}
for {set i 0} {$i < 10} {incr i} {
	lappend threads [thread::create -joinable {thread::wait}]
}
set sum 0
foreach t $threads {
	incr sum [thread::send $t {expr 6 * 7}]
}
puts $sum
foreach t $threads {
	thread::release $t
	thread::join $t
}
puts end
