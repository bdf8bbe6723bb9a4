/* SPDX-License-Identifier: Apache-2.0 */
/* net.h - `uk net`: one CPU for the network. */
#ifndef NET_NET_H
#define NET_NET_H

/* argv[0] is "net". The exit status. */
int net(int argc, char **argv);

#endif
