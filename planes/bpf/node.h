/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/* What the kernel programs and the tool share: records of the maps, mark, tag. */
#ifndef FAIRLANE_NODE_H
#define FAIRLANE_NODE_H

#include <linux/bpf.h>
#include "fixed.h"
#include "generated/records.h"

/* Classes. */
enum { CLASS_BE, CLASS_EF, CLASSES };

/*
 * A label: 31..24 MARK_VALID, 23 zero, 22 class EF, 21..0 biased activity. Zero is none.
 *
 * Inside a node it lies in some bits of the mark of the packet, see struct mark_bits.
 */
#define MARK_VALID 0xfa000000U
#define MARK_VALID_MASK 0xff000000U
#define MARK_EF 0x00400000U
#define MARK_ACTIVITY 0x003fffffU

/*
 * On a link it is an 802.1ad tag: PCP and VID are the upper 15 bits of the biased activity, DEI is class EF. The lower
 * 7 are lost; what comes out is the middle of the activities with these upper bits, which is wrong by 2^-10 at most.
 */
#define TAG_ETHERTYPE 0x88a8
/*
 * Tags of others stay where they are: a node puts its own around them. What has a tag of that kind but no label gets
 * one around it that says so; the highest activity is a unit less for it.
 */
#define TAG_NONE 0x7fff
#define TAG_DEI 0x1000
#define TAG_LOST_BITS (FAIR_ACTIVITY_BITS - 15)

/*
 * Or an option in the hop-by-hop header of IPv6: type 0x1e (for experiments, RFC 4727; nodes that do not know it pass
 * it over, RFC 8200 4.2), 4 bytes that are the label in network byte order. It comes first in its header.
 */
#define OPTION_TYPE 0x1e
#define OPTION_PADN 1
/*
 * Or a shim of 8 bytes between the addresses and the ethertype, as a tag would lie there: an ethertype for experiments
 * (IEEE 802, Local Experimental 1), the label in network byte order, zero. It is taken off by XDP, before the kernel
 * looks at the packet, and its label goes on in front of the data (data_meta).
 */
#define SHIM_ETHERTYPE 0x88b5
/* What an option or a shim adds to a packet. */
#define LABEL_BYTES 8

#define DSCP_EF 46

/* The mark of a packet with a label, its other bits as they were. */
FAIR_INLINE __u32 mark_with(const struct mark_bits *bits, __u32 mark, __u32 label)
{
	__u32 upper = ((label & MARK_ACTIVITY) >> bits->lost) + 1;

	mark &= ~bits->mask;
	if (!label)
		return mark;
	/* The highest activity may be a unit less for it. */
	if (upper > bits->most)
		upper = bits->most;
	return mark | (upper << 1 | !!(label & MARK_EF)) << bits->shift;
}

/* The label in a mark. Of lost bits the middle. */
FAIR_INLINE __u32 label_in(const struct mark_bits *bits, __u32 mark)
{
	__u32 number = (mark & bits->mask) >> bits->shift, upper = number >> 1;

	if (!upper)
		return 0;
	return MARK_VALID | (number & 1 ? MARK_EF : 0) |
	       (((upper - 1) << bits->lost | 1U << bits->lost >> 1) & MARK_ACTIVITY);
}

#endif
