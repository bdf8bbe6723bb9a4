# SPDX-License-Identifier: Apache-2.0
# threads.pl - Perl's ithreads, each with its own interpreter: a queue, a shared sum, an alarm
use threads;
use threads::shared;
use Thread::Queue;

my $queue = Thread::Queue->new;
my $sum : shared = 0;
my @workers = map {
	threads->create(sub {
		while (defined(my $x = $queue->dequeue)) { lock $sum; $sum += $x }
	})
} 1 .. 8;
$queue->enqueue(1 .. 1000);
$queue->end;
$_->join for @workers;
print "$sum\n";
local $SIG{ALRM} = sub { print "alarm\n" };
alarm 1;
select undef, undef, undef, 100;
print "end\n";
