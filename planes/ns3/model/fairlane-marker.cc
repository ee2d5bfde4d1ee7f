// SPDX-License-Identifier: MIT OR Apache-2.0
#include "fairlane-marker.h"

#include "fairlane-common.h"
#include "fairlane-tag.h"

#include "ns3/abort.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/ipv4-queue-disc-item.h"
#include "ns3/ipv6-l3-protocol.h"
#include "ns3/ipv6-queue-disc-item.h"
#include "ns3/log.h"
#include "ns3/node.h"
#include "ns3/packet.h"
#include "ns3/simulator.h"
#include "ns3/string.h"

#include <algorithm>
#include <cmath>

namespace ns3
{

NS_LOG_COMPONENT_DEFINE("FairlaneMarker");

NS_OBJECT_ENSURE_REGISTERED(FairlaneMarker);

namespace
{

/// User of the longest matching prefix. Prefixes are sorted by length, the longest first.
template <typename Prefixes, typename Address>
const uint32_t*
Find(const Prefixes& prefixes, const Address& source)
{
    for (const auto& prefix : prefixes)
    {
        if (prefix.mask.IsMatch(source, prefix.network))
        {
            return &prefix.user;
        }
    }
    return nullptr;
}

uint32_t
PayloadBytes(const Ipv4Header& header)
{
    return header.GetPayloadSize();
}

uint32_t
PayloadBytes(const Ipv6Header& header)
{
    return header.GetPayloadLength();
}

/// Packet as queue discs see it: with a separate header, and without the padding of short frames.
template <typename Item, typename Header>
Ptr<QueueDiscItem>
ItemOf(const Packet& packet, Header& header, uint16_t protocol)
{
    auto content = packet.Copy();
    content->RemoveHeader(header);
    content->RemoveAtEnd(content->GetSize() - std::min(content->GetSize(), PayloadBytes(header)));
    return Create<Item>(content, Address(), protocol, header);
}

template <typename Prefixes>
void
SortByLength(Prefixes& prefixes)
{
    std::stable_sort(prefixes.begin(), prefixes.end(), [](const auto& a, const auto& b) {
        return a.mask.GetPrefixLength() > b.mask.GetPrefixLength();
    });
}

} // namespace

void
FairlaneMarker::Delete::operator()(fairlane_marker* marker) const
{
    fairlane_marker_destroy(marker);
}

TypeId
FairlaneMarker::GetTypeId()
{
    static TypeId tid = TypeId("ns3::FairlaneMarker")
                            .SetParent<Object>()
                            .SetGroupName("TrafficControl")
                            .AddConstructor<FairlaneMarker>()
                            .AddAttribute("Config",
                                          "A [marker] table of Fairlane's scenarios, in TOML or JSON",
                                          StringValue("scheme = \"abc\""),
                                          MakeStringAccessor(&FairlaneMarker::m_config),
                                          MakeStringChecker());
    return tid;
}

FairlaneMarker::FairlaneMarker()
    : m_random(CreateObject<UniformRandomVariable>())
{
}

FairlaneMarker::~FairlaneMarker() = default;

int64_t
FairlaneMarker::AssignStreams(int64_t stream)
{
    m_random->SetStream(stream);
    return 1;
}

uint32_t
FairlaneMarker::AddUser(DataRate referenceRate, double weight)
{
    NS_ABORT_MSG_IF(m_marker, "FairlaneMarker::AddUser: packets were metered already; add users before");
    NS_ABORT_MSG_UNLESS(referenceRate.GetBitRate() > 0,
                        "FairlaneMarker::AddUser: referenceRate: 0 bit/s, it must be 1 bit/s or more");
    NS_ABORT_MSG_UNLESS(weight > 0 && std::isfinite(weight),
                        "FairlaneMarker::AddUser: weight: " << weight << ", it must be above 0 and finite");
    m_users.push_back({referenceRate.GetBitRate(), weight});
    return m_users.size() - 1;
}

uint32_t
FairlaneMarker::AddUser(Ipv4Address network, Ipv4Mask mask, DataRate referenceRate, double weight)
{
    uint32_t user = AddUser(referenceRate, weight);
    m_ipv4.push_back({network, mask, user});
    SortByLength(m_ipv4);
    return user;
}

uint32_t
FairlaneMarker::AddUser(Ipv6Address network, Ipv6Prefix prefix, DataRate referenceRate, double weight)
{
    uint32_t user = AddUser(referenceRate, weight);
    m_ipv6.push_back({network, prefix, user});
    SortByLength(m_ipv6);
    return user;
}

void
FairlaneMarker::Install(Ptr<NetDevice> device)
{
    if (m_devices.empty())
    {
        m_start_ns = Simulator::Now().GetNanoSeconds();
    }
    m_devices.insert(device);
    Ptr<FairlaneMarker> self(this);
    auto ipv4 = device->GetNode()->GetObject<Ipv4L3Protocol>();
    auto ipv6 = device->GetNode()->GetObject<Ipv6L3Protocol>();
    NS_ABORT_MSG_UNLESS(ipv4 || ipv6, "FairlaneMarker::Install: the node has no internet stack yet");
    if (ipv4 && m_stacks.insert(ipv4).second)
    {
        ipv4->TraceConnectWithoutContext("Rx", MakeCallback(&FairlaneMarker::ReceiveIpv4, self));
    }
    if (ipv6 && m_stacks.insert(ipv6).second)
    {
        ipv6->TraceConnectWithoutContext("Rx", MakeCallback(&FairlaneMarker::ReceiveIpv6, self));
    }
}

void
FairlaneMarker::ReceiveIpv4(Ptr<const Packet> packet, Ptr<Ipv4> ipv4, uint32_t interface)
{
    if (m_devices.count(ipv4->GetNetDevice(interface)) > 0)
    {
        Ipv4Header header;
        auto item = ItemOf<Ipv4QueueDiscItem>(*packet, header, Ipv4L3Protocol::PROT_NUMBER);
        Mark(*packet, *item, Find(m_ipv4, header.GetSource()));
    }
}

void
FairlaneMarker::ReceiveIpv6(Ptr<const Packet> packet, Ptr<Ipv6> ipv6, uint32_t interface)
{
    if (m_devices.count(ipv6->GetNetDevice(interface)) > 0)
    {
        Ipv6Header header;
        auto item = ItemOf<Ipv6QueueDiscItem>(*packet, header, Ipv6L3Protocol::PROT_NUMBER);
        Mark(*packet, *item, Find(m_ipv6, header.GetSource()));
    }
}

void
FairlaneMarker::Mark(const Packet& packet, const QueueDiscItem& item, const uint32_t* user)
{
    // Tags are not part of a packet's content. ns-3 can add tags to const packets but not replace them.
    auto& tagged = const_cast<Packet&>(packet);
    FairlaneTag tag;
    if (!user)
    {
        tagged.RemovePacketTag(tag);
        return;
    }
    Build();
    auto described = fairlane::Describe(item);
    described.user = *user;
    fairlane::CheckCall(
        fairlane_marker_label(m_marker.get(), &described, Simulator::Now().GetNanoSeconds()));
    tag = FairlaneTag(described.label, *user);
    tagged.ReplacePacketTag(tag);
}

void
FairlaneMarker::Build()
{
    if (m_marker)
    {
        return;
    }
    char message[500] = "";
    fairlane_marker* marker = nullptr;
    auto status = fairlane_marker_create(m_config.c_str(),
                                         m_users.data(),
                                         m_users.size(),
                                         m_start_ns,
                                         fairlane::DrawSeed(*m_random),
                                         &marker,
                                         message,
                                         sizeof(message));
    fairlane::CheckConfig("FairlaneMarker::Config", status, message);
    m_marker.reset(marker);
}

void
FairlaneMarker::DoDispose()
{
    m_marker.reset();
    m_devices.clear();
    m_stacks.clear();
    Object::DoDispose();
}

} // namespace ns3
