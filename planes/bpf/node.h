/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/* Shared by the kernel programs and the tool: map records, mark, tag. */
#ifndef FAIRLANE_NODE_H
#define FAIRLANE_NODE_H

#include <linux/bpf.h>
#include "fixed.h"
#include "generated/records.h"

/* Classes. */
enum { CLASS_BE, CLASS_EF, CLASSES };

/*
 * A label: bits 31..24 MARK_VALID, 23 zero, 22 class EF, 21..0 biased activity. Zero is no label.
 *
 * Inside a node the label is in some bits of the packet's mark, see struct mark_bits.
 */
#define MARK_VALID 0xfa000000U
#define MARK_VALID_MASK 0xff000000U
#define MARK_EF 0x00400000U
#define MARK_ACTIVITY 0x003fffffU

/*
 * On a link, a label can be an 802.1ad tag: PCP and VID are the upper 15 bits of the biased activity, DEI is class EF.
 * The lower 7 bits are lost. The receiver takes the middle of the activities with these upper bits, an error of at most
 * 2^-10.
 */
#define TAG_ETHERTYPE 0x88a8
/*
 * Other tags stay: a node adds its own outside them. A packet that has a tag of the same kind but no label gets an
 * outer tag with this value, which means "no label"; therefore the highest activity is one unit less.
 */
#define TAG_NONE 0x7fff
#define TAG_DEI 0x1000
#define TAG_LOST_BITS (FAIR_ACTIVITY_BITS - 15)

/*
 * A label can also be an option in the hop-by-hop header of IPv6: type 0x1e (experimental, RFC 4727; nodes that do not
 * know it skip it, RFC 8200 4.2), with 4 bytes, the label in network byte order. It is the first option of its header.
 */
#define OPTION_TYPE 0x1e
#define OPTION_PADN 1
/*
 * A label can also be a shim of 8 bytes between the addresses and the ethertype, at the position of a tag: an
 * experimental ethertype (IEEE 802, Local Experimental 1), the label in network byte order, zero. An XDP program
 * removes it before the kernel looks at the packet, and passes the label on in front of the data (data_meta).
 */
#define SHIM_ETHERTYPE 0x88b5
/* Bytes that an option or a shim adds to a packet. */
#define LABEL_BYTES 8

#define DSCP_EF 46

/* The mark of a packet with a label; the other bits are unchanged. */
FAIR_INLINE __u32 mark_with(const struct mark_bits *bits, __u32 mark, __u32 label)
{
	__u32 upper = ((label & MARK_ACTIVITY) >> bits->lost) + 1;

	mark &= ~bits->mask;
	if (!label)
		return mark;
	/* The highest activity may be one unit less, see TAG_NONE. */
	if (upper > bits->most)
		upper = bits->most;
	return mark | (upper << 1 | !!(label & MARK_EF)) << bits->shift;
}

/* The label in a mark. Lost bits are replaced by their middle value. */
FAIR_INLINE __u32 label_in(const struct mark_bits *bits, __u32 mark)
{
	__u32 number = (mark & bits->mask) >> bits->shift, upper = number >> 1;

	if (!upper)
		return 0;
	return MARK_VALID | (number & 1 ? MARK_EF : 0) |
	       (((upper - 1) << bits->lost | 1U << bits->lost >> 1) & MARK_ACTIVITY);
}

#endif
