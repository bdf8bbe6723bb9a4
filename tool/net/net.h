/* SPDX-License-Identifier: Apache-2.0 */
/* net.h - `uk net`: lets one CPU do the network's work. */
#ifndef NET_NET_H
#define NET_NET_H

/* argv[0] is "net". Returns the exit status. */
int net(int argc, char **argv);

#endif
