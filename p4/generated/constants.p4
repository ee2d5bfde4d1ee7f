/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Written by `make p4-tables` from fairlane_schemes::fixed: do not edit. */
/* Constants of the arithmetic. */
#ifndef FAIRLANE_CONSTANTS_P4
#define FAIRLANE_CONSTANTS_P4

/* A label, biased: activity + 32. */
typedef bit<16> activity_t;
/* Bits of a label. */
const int ACTIVITY_BITS = 16;
/* Those behind the point. */
const int ACTIVITY_FRACTION_BITS = 10;
/* Activity 0. */
const activity_t ACTIVITY_ZERO = 32768;
/* The highest label. */
const bit<64> ACTIVITY_MOST = 65535;
/* Fraction bits of an exponent of 1/2. */
const int EXPONENT_BITS = 56;
/* An exponent that leaves nothing. */
const bit<64> NOTHING_LEFT = 0xffffffffffffffff;
/* ln 2 in Q32. */
const bit<64> LN2 = 2977044472;
/* log2(0) in Q31, by convention -64. */
const bit<64> LOG2_OF_ZERO = 0xffffffe000000000;
/* Fine ticks in a tick, as a power of two. */
const int FINE_BITS = 5;
/* Fine ticks after which nothing is left. */
const bit<64> FORGOTTEN = 67108864;
/* Fine ticks up to which T is a parabola. */
const bit<64> YOUNG_FINE_TICKS = 16384;
/* Fraction bits of S of the meter, bytes. */
const int METER_SUM_BITS = 12;
/* Fraction bits of N of the averager. */
const int COUNT_BITS = 24;
/* Those of its S beyond the label's. */
const int SUM_EXTRA_BITS = 8;
/* One packet, in units of a queue in packets. */
const bit<64> PACKET = 16;

#endif
