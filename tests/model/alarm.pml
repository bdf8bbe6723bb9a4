/* SPDX-License-Identifier: Apache-2.0 */
/* alarm.pml - the timer that wakes the sleeping monitor: monitor_notice and alarm_stop
 * (src/sched/dispatch.c) against sleep_with_the_vps (src/monitor/monitor.c).
 *
 * Two vps and the monitor. A vp that leaves idleness sets the timer, unless another has
 * done so. A vp that becomes idle as the last one stops it. Setting and stopping are
 * system calls, so others may come between them and the state. A vp may block; then it
 * waits until the monitor has looked at it.
 *
 * Checked: a vp that has blocked is looked at (no end state in which it waits).
 *
 * Must fail: -DNO_STATE (a vp that has stopped the timer does not look whether another
 * has set it meanwhile) -DNO_IDLE (nor whether the others are still idle)
 * -DNOTICE_FIRST (a vp reads the state before it clears idle) -DSLEEP_BLIND (the
 * monitor does not look again before it sleeps) */
#define AWAKE 0
#define ASLEEP 1
#define ARMED 2 /* asleep, and the timer is set or about to be */

byte state = AWAKE;          /* monitor_state */
bool idle[2];
bool timer, signal;          /* the timer is set; its signal is pending */
bool blocked[2], found[2];

#define ALL_IDLE (idle[0] && idle[1])

inline notice()
{
	atomic {
		won = state == ASLEEP;
		if
		:: won -> state = ARMED
		:: else
		fi
	}
	if
	:: won -> timer = true; won = false
	:: else
	fi
}

inline alarm_stop()
{
	if
	:: state == ARMED && ALL_IDLE ->
		atomic {
			won = state == ARMED;
			if
			:: won -> state = ASLEEP
			:: else
			fi
		}
		if
		:: won ->
			won = false;
			timer = false;
#ifndef NO_STATE
			if
			:: state == ARMED -> timer = true
			:: else
			fi;
#endif
#ifndef NO_IDLE
			if
			:: ALL_IDLE
			:: else -> notice()
			fi
#endif
		:: else
		fi
	:: else
	fi
}

proctype Vp(byte v)
{
	byte n = 3;
	bool won;

	do
	:: n == 0 -> break
	:: n > 0 ->
		n--;
#ifdef NOTICE_FIRST
		notice();
		idle[v] = false;
#else
		idle[v] = false;
		notice();
#endif
		if
		:: blocked[v] = true;
			(found[v]);
			atomic { blocked[v] = false; found[v] = false }
		:: true
		fi;
		idle[v] = true;
		alarm_stop()
	od
}

active proctype Monitor()
{
	do
	:: true ->
		if
		:: blocked[0] -> found[0] = true
		:: else
		fi;
		if
		:: blocked[1] -> found[1] = true
		:: else
		fi;
		if
		:: ALL_IDLE ->
			state = ASLEEP;
			if
#ifdef SLEEP_BLIND
			:: true ->
#else
			:: ALL_IDLE ->
#endif
end:				signal;
				signal = false
#ifndef SLEEP_BLIND
			:: else
#endif
			fi;
			state = AWAKE
		:: else
		fi
	od
}

active proctype Kernel()
{
end:	do
	:: atomic { timer -> timer = false; signal = true }
	od
}

init
{
	atomic { run Vp(0); run Vp(1) }
}
