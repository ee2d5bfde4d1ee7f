/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The fair rate alpha of a port, from the rates of arrivals A and of accepted packets F, both by eq. (1):
 *
 *   A >= C for a window K_c:  alpha = min(C, alpha * C/F)       (5)
 *   A <  C for a window K_c:  alpha = largest label             (6)
 *   at an overflow:           alpha = 0.99 * alpha, CUTS times at most after an onset of congestion     (7)
 *
 * Everything is a logarithm in Q31 here: (5) is a sum, (7) the addition of a constant. Without an estimate (alpha = 0)
 * everything passes. Amendments of 2003: (7), and below a queue threshold the link counts as uncongested.
 */
#ifndef FAIRLANE_CSFQ_FAIR_RATE_P4
#define FAIRLANE_CSFQ_FAIR_RATE_P4

struct fair_rate_t {
    bit<64> log2_alpha;    /* over the reference rate; LOG2_OF_ZERO: no estimate */
    bit<64> largest_label; /* of the present uncongested window; LOG2_OF_ZERO: none */
    bit<64> window_start_ns;
    bit<1>  is_uncongested;
    bit<8>  cuts;          /* since the onset of congestion */
}

/* Eq. (5) and (6), at the first packet of a tick. */
control Observe(inout fair_rate_t fair, in aqm_t parameters, in rate_t arrival, in rate_t accepted,
                in bit<64> log2_label, in bit<1> is_short, in bit<64> now_ns) {
    Log2() logarithm_of_arrival;
    Log2() logarithm_of_accepted;
    bit<64> log2_arrival = 0;
    bit<64> log2_accepted = 0;
    bool is_over = false;

    action note_label() {
        fair.largest_label = is_below(fair.largest_label, log2_label) ? log2_label : fair.largest_label;
    }

    /* The first estimate: the largest label, or half of C. */
    action begin() {
        fair.log2_alpha = fair.largest_label != LOG2_OF_ZERO ? fair.largest_label :
                          parameters.log2_capacity - (1 << 31);
        fair.largest_label = LOG2_OF_ZERO;
    }

    action enter_congestion() {
        fair.is_uncongested = 0;
        fair.cuts = 0;
    }

    action leave_congestion() {
        fair.is_uncongested = 1;
        fair.largest_label = LOG2_OF_ZERO;
    }

    action begin_window() {
        fair.window_start_ns = now_ns;
    }

    action scale() {
        bit<64> scaled = fair.log2_alpha + parameters.log2_full - log2_accepted; /* eq. (5) */
        fair.log2_alpha = is_below(scaled, parameters.log2_capacity) ? scaled : parameters.log2_capacity;
    }

    action take_largest_label() {
        fair.log2_alpha = fair.largest_label; /* eq. (6) */
        fair.largest_label = LOG2_OF_ZERO;
    }

    action forget() {
        fair.log2_alpha = LOG2_OF_ZERO;
    }

    apply {
        if (fair.log2_alpha == LOG2_OF_ZERO && is_short == 1) {
            note_label();
        } else {
            if (fair.log2_alpha == LOG2_OF_ZERO) {
                begin();
            }
            is_over = now_ns >= (fair.window_start_ns |+| parameters.window_ns);
            logarithm_of_arrival.apply(arrival.sum, log2_arrival);
            if (!is_below(log2_arrival, parameters.log2_full)) {
                if (fair.is_uncongested == 1) {
                    enter_congestion();
                    begin_window();
                } else if (is_over) {
                    begin_window();
                    if (accepted.sum != 0) {
                        logarithm_of_accepted.apply(accepted.sum, log2_accepted);
                        scale();
                    }
                }
            } else if (fair.is_uncongested == 0) {
                leave_congestion();
                begin_window();
            } else if (!is_over) {
                note_label();
            } else {
                begin_window();
                if (is_short == 1) {
                    forget();
                } else {
                    take_largest_label();
                }
            }
        }
    }
}

/* Eq. (7): a packet found the queue full. */
control Cut(inout fair_rate_t fair) {
    action count_cut() {
        fair.cuts = fair.cuts + 1;
    }

    action cut() {
        fair.log2_alpha = fair.log2_alpha + LOG2_CUT;
    }

    apply {
        if (fair.cuts < CUTS) {
            count_cut();
            if (fair.log2_alpha != LOG2_OF_ZERO) {
                cut();
            }
        }
    }
}

#endif
