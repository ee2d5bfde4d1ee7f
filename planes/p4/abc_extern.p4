/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * ABC as in p4abc section 5: floating point in externs, and the queue length as last seen by the egress. It exists for
 * comparison with abc.p4, which needs neither. Tables, roles and control plane are the same, so that `fairlane p4
 * commands` works for both.
 *
 * - The meter, and the AQM with its averager, are C++ functions (p4/extern/fairlane_extern.cpp), which call the
 *   reference implementation. simple_switch loads them when it starts: -- --load-modules=fairlane_extern.so.
 * - State is in registers, as bit strings of doubles. Externs cannot access registers, so the program copies state to
 *   locals, passes them to the extern, and copies them back.
 * - The egress copies its queue length to a register whenever a packet leaves. The ingress adds one for each packet
 *   that it accepts (p4abc 5.1). -DQUEUE_COPY=enq_qdepth copies the length that the packet found on arrival instead of
 *   the one that it leaves behind: the paper does not say which.
 *
 * Deviations: 1. A packet is dropped if Q >= T_drop, as in abc2018; p4abc 3.3 has Q > T_drop. 2. Users are prefixes.
 * Not implemented: labels on links (nor does the paper have them); virtual queues.
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
