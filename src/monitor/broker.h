/* SPDX-License-Identifier: Apache-2.0 */
/* broker.h - what a process and `uk broker` say to each other, over a socket of
 * packets.
 *
 *   process                                broker
 *   {pid, tid of its monitor, 0}     -->   which process? (SO_PEERPIDFD) a home for it
 *                                    <--   {0}, or {-errno} and it closes the socket
 *   {pid, tid, its struct carrier}   -->   a thread of the process? a seat for it
 *   ...                              <--   {0}, or {-errno} and nothing has changed
 *
 * Each question has one answer, in the same order. Before the first answer the broker
 * may say {-errno}, that it has no place for another process, and close the socket. A
 * side that breaks the protocol is disconnected. When the socket is closed, all of the
 * process's watching ends; through it a process can reach nothing else. */
#ifndef MONITOR_BROKER_H
#define MONITOR_BROKER_H

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
