/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* How much a switch can hold. */
#ifndef FAIRLANE_SIZES_P4
#define FAIRLANE_SIZES_P4

/* Meters; also prefixes in the table of users. */
#ifndef USERS
#define USERS 4096
#endif

/* Ports of the v1model have 9 bits; the last means none. */
#define PORTS 512

#endif
