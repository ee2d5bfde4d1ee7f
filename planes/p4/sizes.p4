/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Capacities of a switch. */
#ifndef FAIRLANE_SIZES_P4
#define FAIRLANE_SIZES_P4

/* Number of meters, and of prefixes in the table of users. */
#ifndef USERS
#define USERS 4096
#endif

/* Ports of the v1model have 9 bits; the last number means none. */
#define PORTS 512

#endif
