/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * ABC on a switch of the v1model: activity meters at the edge, activity AQM in front of the queues, the label in an
 * 802.1ad tag between switches. Integers only, no extern beyond v1model; the arithmetic is that of
 * fairlane_schemes::fixed, bit for bit. Design and numbers: docs/p4.md.
 *
 * Source: abc2018 III; p4abc 5.
 *
 * Compile with -DUSERS=n for another number of meters.
 */
#include <core.p4>
#include <v1model.p4>
#include "generated/constants.p4"
#include "sizes.p4"
#include "headers.p4"
#include "abc/parameters.p4"
#include "metadata.p4"
#include "probe.p4"
#include "parser.p4"
#include "arithmetic.p4"
#include "queue.p4"
#include "abc/meter.p4"
#include "abc/averager.p4"
#include "abc/aqm.p4"
#include "switch.p4"
