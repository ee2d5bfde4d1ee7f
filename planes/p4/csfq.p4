/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * CSFQ, core-stateless fair queueing, on a switch of the v1model: rate meters at the edge, in front of the queues a
 * port that drops what exceeds the fair rate, the label in an 802.1ad tag between switches. Integers only, no extern
 * beyond v1model; the arithmetic is that of fairlane_schemes::fixed::csfq, bit for bit. Design and numbers: docs/p4.md.
 *
 * The label is log2 of the user's rate over its reference rate: reference rates are weights.
 *
 * Source: Stoica, Shenker, Zhang, SIGCOMM 1998 and ToN 2003; equations are numbered as in docs/schemes/csfq.md.
 *
 * Compile with -DUSERS=n for another number of meters.
 */
#include <core.p4>
#include <v1model.p4>
#include "generated/constants.p4"
#include "sizes.p4"
#include "headers.p4"
#include "csfq/parameters.p4"
#include "metadata.p4"
#include "probe.p4"
#include "parser.p4"
#include "arithmetic.p4"
#include "queue.p4"
#include "csfq/rate.p4"
#include "csfq/meter.p4"
#include "csfq/fair_rate.p4"
#include "csfq/aqm.p4"
#include "switch.p4"
