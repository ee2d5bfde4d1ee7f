// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef FAIRLANE_QUEUE_DISC_H
#define FAIRLANE_QUEUE_DISC_H

#include "ns3/fairlane.h"

#include "ns3/data-rate.h"
#include "ns3/queue-disc.h"
#include "ns3/random-variable-stream.h"

#include <memory>
#include <string>
#include <vector>

namespace ns3
{

/**
 * \ingroup traffic-control
 *
 * Any scheme of Fairlane as a queue disc. The scheme decides by these properties of a packet: the label and the user
 * that a FairlaneMarker wrote, the length at the IP layer, the flow (the hash of the five-tuple, QueueDiscItem::Hash),
 * the ECN field and the class (DSCP EF is expedited, everything else best effort). A packet that passed no marker has
 * label 0, and its user is identified by its source address.
 *
 * Attributes:
 * - Config: the text of a [queue] table of Fairlane's scenarios, in TOML or JSON, such as "scheme = \"abc\"\nlimit =
 *   \"24 packets\"". An error ends the simulation and reports the key, its value and the allowed values.
 * - LinkRate: rate of the outgoing link. The default, 0, means the rate of the device, which must have the attribute
 *   DataRate.
 *
 * As everywhere in ns-3, the device has its own queue behind this queue disc. Limit it to one packet
 * (ns3::DropTailQueue, MaxSize "1p"), otherwise the scheme sees only a part of the queue.
 *
 * Random numbers follow the seed and run of RngSeedManager, and AssignStreams, as elsewhere in ns-3.
 */
class FairlaneQueueDisc : public QueueDisc
{
  public:
    static TypeId GetTypeId();
    FairlaneQueueDisc();
    ~FairlaneQueueDisc() override;

    /**
     * \param stream first stream index to use
     * \return the number of streams used: 1
     */
    int64_t AssignStreams(int64_t stream);

    /**
     * \return the counters of the scheme and the drop threshold for the last arrival; all zero before the queue
     *         disc is initialized
     */
    fairlane_queue_stats_t GetSchemeStats() const;

    // Reasons of drops and marks, in the order of FAIRLANE_DROP_AQM, ..., FAIRLANE_MARKED.
    static constexpr const char* AQM_DROP = "Dropped by the scheme";
    static constexpr const char* OVERLIMIT_DROP = "Dropped at a full queue";
    static constexpr const char* PUSHED_OUT_DROP = "Dropped to make room";
    static constexpr const char* MARK = "Marked by the scheme";

  private:
    class Store;
    struct Delete
    {
        void operator()(fairlane_queue* queue) const;
    };

    bool DoEnqueue(Ptr<QueueDiscItem> item) override;
    Ptr<QueueDiscItem> DoDequeue() override;
    bool CheckConfig() override;
    void InitializeParams() override;
    void DoDispose() override;

    /// LinkRate, or the rate of the device.
    DataRate Rate() const;
    /// Called by the scheme for every packet that it drops or marks.
    static void OnDrop(void* self, const fairlane_packet* packet, uint8_t reason);
    void Drop(uint64_t id, uint8_t reason);

    std::string m_config;
    DataRate m_linkRate;
    Ptr<UniformRandomVariable> m_random;
    std::unique_ptr<fairlane_queue, Delete> m_queue;
    Ptr<Store> m_store;
    /// Packet that the scheme is deciding on (null at other times), its slot, and the reason if the scheme drops it.
    Ptr<QueueDiscItem> m_arrival;
    uint64_t m_arrivalPlace{0};
    const char* m_arrivalDropped{nullptr};
};

} // namespace ns3

#endif // FAIRLANE_QUEUE_DISC_H
