// SPDX-License-Identifier: MIT OR Apache-2.0
#include "disc.h"

#include "ns3/abort.h"
#include "ns3/queue-item.h"

using namespace ns3;

namespace fairlane
{

namespace
{

/// A packet on its way through a queue disc. It has its headers already, and cannot be marked.
class Item : public QueueDiscItem
{
  public:
    explicit Item(Ptr<Packet> packet) : QueueDiscItem(packet, Address(), 0) {}

    void AddHeader() override {}
    bool Mark() override { return false; }
};

} // namespace

DiscQueue::DiscQueue(Ptr<QueueDisc> disc) : m_disc(disc)
{
    SetMaxSize(QueueSize(QueueSizeUnit::PACKETS, UINT32_MAX)); // the disc has the limit
    m_disc->Initialize();
}

bool DiscQueue::Enqueue(Ptr<Packet> packet)
{
    if (!m_disc->Enqueue(Create<Item>(packet)))
    {
        DropBeforeEnqueue(packet);
        return false;
    }
    return DoEnqueue(GetContainer().end(), packet);
}

Ptr<Packet> DiscQueue::Dequeue()
{
    auto item = m_disc->Dequeue();
    // What stood before it, or all if there is none, the disc dropped from the head.
    while (GetNPackets() > 0 && (!item || *GetContainer().begin() != item->GetPacket()))
    {
        DoRemove(GetContainer().begin()); // counts it as dropped
    }
    NS_ABORT_MSG_IF(item && GetNPackets() == 0, "the queue disc does not serve in the order of arrival");
    return item ? DoDequeue(GetContainer().begin()) : nullptr;
}

Ptr<Packet> DiscQueue::Remove() { return Dequeue(); }

Ptr<const Packet> DiscQueue::Peek() const { return DoPeek(GetContainer().begin()); }

} // namespace fairlane
