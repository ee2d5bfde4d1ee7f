/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Written by `make p4-tables` from fairlane_schemes::fixed: do not edit. */
/* Constants of the arithmetic. */
#ifndef FAIRLANE_CONSTANTS_P4
#define FAIRLANE_CONSTANTS_P4

/* A label, biased: activity + 32. */
typedef bit<22> activity_t;
/* Bits of a label. */
const int ACTIVITY_BITS = 22;
/* Those behind the point. */
const int ACTIVITY_FRACTION_BITS = 16;
/* Activity 0. */
const activity_t ACTIVITY_ZERO = 2097152;
/* The highest label. */
const bit<64> ACTIVITY_MOST = 4194303;
/* Fraction bits of an exponent of 1/2. */
const int EXPONENT_BITS = 56;
/* An exponent that leaves nothing. */
const bit<64> NOTHING_LEFT = 0xffffffffffffffff;
/* ln 2 in Q32. */
const bit<64> LN2 = 2977044472;
/* log2(0) in Q31, by convention -64. */
const bit<64> LOG2_OF_ZERO = 0xffffffe000000000;
/* ln 2 / 24 in Q32. */
const bit<64> LN2_24TH = 124043520;
/* Ticks after which nothing is left. */
const bit<64> FORGOTTEN = 67108864;
/* Ticks up to which T is taken from its series. */
const bit<64> YOUNG_TICKS = 131072;
/* Fraction bits of S of the meter, bytes. */
const int METER_SUM_BITS = 16;
/* Fraction bits of N of the averager. */
const int COUNT_BITS = 28;
/* Those of its S beyond the label's. */
const int SUM_EXTRA_BITS = 6;
/* Cuts of the fair rate of CSFQ after an onset of congestion. */
const bit<8> CUTS = 30;
/* log2(0.99) in Q31. */
const bit<64> LOG2_CUT = 0xfffffffffe24e0cb;
/* One packet, in units of a queue in packets. */
const bit<64> PACKET = 16;

#endif
