/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Activity AQM and averager of a port by an extern: abc2018 eq. (6) to (10), p4abc 5.2. */
#ifndef FAIRLANE_EXTERN_AQM_P4
#define FAIRLANE_EXTERN_AQM_P4

/* The parameters of abc.p4's tables, lengths in 1/16 packets; queue in packets; the label; state; a Verdict. */
extern void fairlane_abc_aqm(in bit<64> decay_step, in bit<8> decay_shift, in bit<64> q_min, in bit<64> q_base,
                             in bit<64> gamma, in bit<64> limit, in bit<32> queue, in bit<1> is_labelled,
                             in bit<64> activity, in bit<64> now_ns, inout bit<64> sum, inout bit<64> count,
                             inout bit<64> last_ns, out bit<8> verdict);

control Aqm(inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    /* S and N, doubles; t_last in ns. */
    @name(".averager_sum") register<bit<64>>(PORTS) averager_sum;
    @name(".averager_count") register<bit<64>>(PORTS) averager_count;
    @name(".averager_tick") register<bit<64>>(PORTS) averager_tick;

    bit<32> port = (bit<32>)standard_metadata.egress_spec;
    bit<64> sum = 0;
    bit<64> count = 0;
    bit<64> last_ns = 0;
    bit<32> queue = 0;
    bit<8> verdict = 0;

    action judge() {
        averager_sum.read(sum, port);
        averager_count.read(count, port);
        averager_tick.read(last_ns, port);
        queue_length.read(queue, port);
        fairlane_abc_aqm(meta.aqm.decay_step, meta.aqm.decay_shift, meta.aqm.q_min, meta.aqm.q_base, meta.aqm.gamma,
                         meta.queue.limit, queue, meta.label.is_valid, meta.label.activity, meta.now_ns, sum, count,
                         last_ns, verdict);
        averager_sum.write(port, sum);
        averager_count.write(port, count);
        averager_tick.write(port, last_ns);
        meta.verdict = (Verdict)(bit<3>)verdict;
    }

    /* Packets without a label are none of the domain's: the extern judges them by the limit of the queue alone. */
    apply {
        judge();
        if (meta.verdict == Verdict.ACCEPTED) {
            queue_length.read(queue, port);
            queue_length.write(port, queue + 1);
        }
    }
}

#endif
