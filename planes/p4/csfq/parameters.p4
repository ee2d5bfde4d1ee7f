/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the control plane says of CSFQ: tables with the constants of the meters, and of the AQM of each port. */
#ifndef FAIRLANE_CSFQ_PARAMETERS_P4
#define FAIRLANE_CSFQ_PARAMETERS_P4

/* A time constant K, RateConstants. */
struct domain_t {
    bit<64> decay_step;  /* Decay::step_q56 of K */
    bit<8>  decay_shift; /* Decay::shift */
    bit<64> log2_tick;   /* log2 of a tick over K, Q31 in two's complement */
}

/* FixedCsfqParams; thresholds are in the unit of the queue. */
struct aqm_t {
    domain_t rates;         /* of K_alpha */
    bit<64>  window_ns;     /* K_c */
    bit<64>  log2_capacity; /* log2 of C over the reference rate of weight 1, Q31 */
    bit<64>  log2_full;     /* log2(S) at which a rate is C, Q31 */
    bit<64>  q_min;         /* nobody is dropped early below */
    bit<64>  q_threshold;   /* the link counts as uncongested below */
}

control DomainTable(inout domain_t parameters) {
    @name(".set_domain")
    action set_domain(bit<64> decay_step, bit<8> decay_shift, bit<64> log2_tick) {
        parameters = { decay_step, decay_shift, log2_tick };
    }

    /* K of all meters. One entry, the default action. */
    @name(".domain")
    table domain {
        actions = { set_domain; }
    }

    apply { domain.apply(); }
}

control AqmTable(in bit<9> port, inout aqm_t parameters, inout queue_t queue, out bit<1> is_managed) {
    /* The egress queues of the port. */
    @name(".set_aqm")
    action set_aqm(bit<64> decay_step, bit<8> decay_shift, bit<64> log2_tick, bit<64> window_ns,
                   bit<64> log2_capacity, bit<64> log2_full, bit<64> q_min, bit<64> q_threshold, bit<64> limit,
                   bit<3> ef_priority) {
        parameters = { { decay_step, decay_shift, log2_tick }, window_ns, log2_capacity, log2_full, q_min,
                       q_threshold };
        queue.limit = limit;
        queue.ef_priority = ef_priority;
    }

    /* A virtual queue of the ingress, drained at 2^20/ns_per_byte bytes a nanosecond. */
    @name(".set_virtual_aqm")
    action set_virtual_aqm(bit<64> decay_step, bit<8> decay_shift, bit<64> log2_tick, bit<64> window_ns,
                           bit<64> log2_capacity, bit<64> log2_full, bit<64> q_min, bit<64> q_threshold,
                           bit<64> limit, bit<64> ns_per_byte, bit<3> ef_priority) {
        parameters = { { decay_step, decay_shift, log2_tick }, window_ns, log2_capacity, log2_full, q_min,
                       q_threshold };
        queue.is_virtual = 1;
        queue.limit = limit;
        queue.ns_per_byte = ns_per_byte;
        queue.ef_priority = ef_priority;
    }

    @name(".aqm")
    table aqm {
        key = { port: exact @name("standard_metadata.egress_spec"); }
        actions = { set_aqm; set_virtual_aqm; NoAction; }
        default_action = NoAction();
        size = PORTS;
    }

    apply { is_managed = aqm.apply().hit ? 1w1 : 0; }
}

#endif
