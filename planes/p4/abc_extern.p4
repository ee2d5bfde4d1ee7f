/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * ABC as p4abc section 5 has it: floating point in externs, the queue as the egress last saw it. To compare with
 * abc.p4, which needs neither; tables, roles and control plane are the same, so that `fairlane p4 commands` serves
 * both.
 *
 * - Meter, and AQM with averager, are functions of C++ (p4/extern/fairlane_extern.cpp), which call the reference
 *   implementation. simple_switch loads them at its start: -- --load-modules=fairlane_extern.so.
 * - State is in registers, as bit strings of doubles. Externs cannot reach registers: state is copied to locals, given
 *   to the extern, and copied back.
 * - The egress copies the length of its queue to a register whenever a packet leaves; the ingress adds one for each
 *   packet that it accepts (p4abc 5.1). -DQUEUE_COPY=enq_qdepth takes the length that the packet met when it came
 *   instead of the one that it leaves behind: the paper does not say which.
 *
 * Deviations: 1. A packet is dropped if Q >= T_drop, as abc2018 has it; p4abc 3.3 says Q > T_drop. 2. Users are
 * prefixes. Not implemented: labels on links, as in the paper; virtual queues.
 *
 * Compile with --emit-externs.
 */
#include <core.p4>
#include <v1model.p4>

/* An activity is a double as a bit string; it stays in this switch. */
typedef bit<64> activity_t;
const int ACTIVITY_BITS = 64;

#include "sizes.p4"
#include "headers.p4"
#include "abc/parameters.p4"
#include "metadata.p4"
#include "probe.p4"
#include "parser.p4"
#include "extern/meter.p4"
#include "extern/queue.p4"
#include "extern/aqm.p4"
#include "switch.p4"
