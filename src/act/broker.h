/* SPDX-License-Identifier: Apache-2.0 */
/* broker.h - what a process and `uk broker` say to each other, over a socket of packets.
 *
 *   process                                     broker
 *   {pid, tid of its monitor, 0}          -->   who are you? (SO_PEERPIDFD) a home for you
 *                                         <--   {0}, or {-errno} and the end
 *   {pid, tid, its struct carrier} ...    -->   is that a thread of yours? a seat for it
 *                                         <--   {0}, or {-errno} and nothing has changed
 *
 * One answer to each question, in their order; before the first one it may say {-errno}, that there
 * is no place for another, and end. Who talks otherwise is left. The end of the socket ends all of it; from there
 * a process can reach nothing but its own watching. */
#ifndef ACT_BROKER_H
#define ACT_BROKER_H

#include <stdint.h>

#define BROKER_PATH "/run/uk-broker.sock"
#define BROKER_VERSION 1u

struct broker_ask {
	uint32_t version;
	int32_t pid; /* as the process sees itself: another pid namespace shows here */
	int32_t tid;
	uint32_t zero;
	uint64_t carrier; /* 0: the first question */
};

struct broker_answer {
	uint32_t version;
	int32_t error;
};

#endif
