// SPDX-License-Identifier: MIT OR Apache-2.0
// A queue disc of ns-3 as a device's own queue, so that there is no second queue between it and the link.
#ifndef FAIRLANE_NS3_DISC_H
#define FAIRLANE_NS3_DISC_H

#include "ns3/packet.h"
#include "ns3/queue-disc.h"
#include "ns3/queue.h"

#include <vector>

namespace fairlane
{

/// Stores packets as a queue disc decides. Packets are also stored here, in the order of arrival, so that length and
/// trace sources are those of a device's queue.
class DiscQueue : public ns3::Queue<ns3::Packet>
{
  public:
    explicit DiscQueue(ns3::Ptr<ns3::QueueDisc> disc);

    bool Enqueue(ns3::Ptr<ns3::Packet> packet) override;
    ns3::Ptr<ns3::Packet> Dequeue() override;
    ns3::Ptr<ns3::Packet> Remove() override;
    ns3::Ptr<const ns3::Packet> Peek() const override;

  private:
    using Place = ConstIterator;

    void Refused(ns3::Ptr<const ns3::QueueDiscItem> item, const char* reason);
    void Dropped(ns3::Ptr<const ns3::QueueDiscItem> item, const char* reason);
    Place Find(ns3::Ptr<const ns3::Packet> packet) const;
    void RemoveDropped();
    ns3::Ptr<ns3::Packet> Take();

    ns3::Ptr<ns3::QueueDisc> m_disc;
    bool m_refused = false;
    /// True if the link found no packet, so that the next packet is sent at once.
    bool m_idle = true;
    /// That packet, if the disc returned it: COBALT may drop a packet that arrives at an idle link.
    ns3::Ptr<ns3::Packet> m_next;
    /// Stored packets that the disc has dropped, until they are removed here.
    std::vector<ns3::Ptr<const ns3::Packet>> m_dropped;
};

} // namespace fairlane

#endif
