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
 * Any scheme of Fairlane as a queue disc. The scheme decides by the label and the user that a FairlaneMarker wrote on
 * the packet, its length at the IP layer, its flow (the hash of the five-tuple, QueueDiscItem::Hash), its ECN field and
 * its class: DSCP EF is expedited, everything else best effort. A packet that no marker has seen has label 0, and its
 * user is identified by its source address.
 *
 * Attributes:
 * - Config: the text of a [queue] table of Fairlane's scenarios, in TOML or JSON, such as
 *   "scheme = \"abc\"\nlimit = \"24 packets\"". A mistake ends the simulation with the key, its value and what is
 *   allowed.
 * - LinkRate: rate of the link that is served. 0, the default: that of the device, which must have an attribute
 *   DataRate.
 *
 * As everywhere in ns-3, the device has a queue of its own behind this queue disc: keep it at one packet
 * (ns3::DropTailQueue, MaxSize "1p"), or the scheme sees only a part of the queue.
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
     * \return how many streams were used: 1
     */
    int64_t AssignStreams(int64_t stream);

    /**
     * \return what the scheme has counted, and the drop threshold that the last arrival met; all zero before the queue
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
    /// The packet that the scheme is being offered, null at other times; its place; why the scheme drops it, if it
    /// does.
    Ptr<QueueDiscItem> m_arrival;
    uint64_t m_arrivalPlace{0};
    const char* m_arrivalDropped{nullptr};
};

} // namespace ns3

#endif // FAIRLANE_QUEUE_DISC_H
