/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the control plane says of ABC: tables with the constants of the meters, and of the AQM of each port. */
#ifndef FAIRLANE_ABC_PARAMETERS_P4
#define FAIRLANE_ABC_PARAMETERS_P4

struct domain_t {
    bit<64> decay_step;  /* Decay::step_q56 of M_AM */
    bit<8>  decay_shift; /* Decay::shift */
    bit<64> log2_memory; /* FixedMeterParams::log2_memory_q31 */
    bit<32> factor_be;   /* accounting factors, Q20 */
    bit<32> factor_ef;
    bit<48> start_us;    /* t0 of all meters */
}

/* Thresholds are in the unit of the queue. */
struct aqm_t {
    bit<64> decay_step;   /* Decay::step_q56 of M_AA */
    bit<8>  decay_shift;  /* Decay::shift */
    bit<64> q_min;
    bit<64> q_base;
    bit<64> gamma;
}

control DomainTable(inout domain_t parameters) {
    @name(".set_domain")
    action set_domain(bit<64> decay_step, bit<8> decay_shift, bit<64> log2_memory, bit<32> factor_be,
                      bit<32> factor_ef, bit<48> start_us) {
        parameters = { decay_step, decay_shift, log2_memory, factor_be, factor_ef, start_us };
    }

    /* Constants of all meters: M_AM and the accounting factors a_PHB. One entry, the default action. */
    @name(".domain")
    table domain {
        actions = { set_domain; }
    }

    apply { domain.apply(); }
}

control AqmTable(in bit<9> port, inout aqm_t parameters, inout queue_t queue, out bit<1> is_managed) {
    /* The egress queues of the port. */
    @name(".set_aqm")
    action set_aqm(bit<64> decay_step, bit<8> decay_shift, bit<64> q_min, bit<64> q_base, bit<64> gamma,
                   bit<64> limit, bit<3> ef_priority) {
        parameters = { decay_step, decay_shift, q_min, q_base, gamma };
        queue.limit = limit;
        queue.ef_priority = ef_priority;
    }

    /* A virtual queue of the ingress, drained at 2^20/ns_per_byte bytes a nanosecond. */
    @name(".set_virtual_aqm")
    action set_virtual_aqm(bit<64> decay_step, bit<8> decay_shift, bit<64> q_min, bit<64> q_base, bit<64> gamma,
                           bit<64> limit, bit<64> ns_per_byte, bit<3> ef_priority) {
        parameters = { decay_step, decay_shift, q_min, q_base, gamma };
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
