// SPDX-License-Identifier: MIT OR Apache-2.0
#include "probe.h"

#include "ns3/abort.h"
#include "ns3/simulator.h"

#include <algorithm>
#include <numeric>

using namespace ns3;

namespace fairlane
{

PortProbe::PortProbe(uint32_t users, Time warmup) : m_warmup(warmup), m_userBytes(users)
{
    Simulator::Schedule(warmup, &PortProbe::Start, this);
}

void PortProbe::Attach(Ptr<PointToPointNetDevice> device)
{
    m_queue = device->GetQueue();
    m_abc = DynamicCast<AbcQueue>(m_queue);
    bool found = m_queue->TraceConnectWithoutContext("PacketsInQueue", MakeCallback(&PortProbe::QueueChanged, this));
    found &= m_queue->TraceConnectWithoutContext("Enqueue", MakeCallback(&PortProbe::Arrived, this));
    found &= m_queue->TraceConnectWithoutContext("DropBeforeEnqueue", MakeCallback(&PortProbe::Arrived, this));
    found &= m_queue->TraceConnectWithoutContext("Dequeue", MakeCallback(&PortProbe::CountWait, this));
    found &= m_queue->TraceConnectWithoutContext("Drop", MakeCallback(&PortProbe::Dropped, this));
    found &= device->TraceConnectWithoutContext("PhyTxEnd", MakeCallback(&PortProbe::Sent, this));
    NS_ABORT_MSG_UNLESS(found, "this ns-3 lacks a trace source of queues or devices");
}

void PortProbe::Start()
{
    std::fill(m_userBytes.begin(), m_userBytes.end(), 0);
    std::fill_n(m_waitSeconds, 2, 0.0);
    std::fill_n(m_served, 2, uint64_t{0});
    m_packetSeconds = 0;
    m_arrivals = m_drops = 0;
    m_aqmDropsBefore = m_abc ? m_abc->AqmDrops() : 0;
    m_lastChange = Simulator::Now();
}

void PortProbe::Finish()
{
    QueueChanged(m_queue->GetNPackets(), m_queue->GetNPackets());
    m_seconds = (Simulator::Now() - m_warmup).GetSeconds();
    m_aqmDrops = m_abc ? m_abc->AqmDrops() - m_aqmDropsBefore : 0;
}

uint64_t PortProbe::Bytes() const { return std::accumulate(m_userBytes.begin(), m_userBytes.end(), uint64_t{0}); }

double PortProbe::MeanQueue() const { return m_packetSeconds / m_seconds; }

void PortProbe::QueueChanged(uint32_t before, uint32_t)
{
    const Time now = Simulator::Now();
    m_packetSeconds += before * (now - m_lastChange).GetSeconds();
    m_lastChange = now;
}

void PortProbe::Arrived(Ptr<const Packet>) { ++m_arrivals; }

void PortProbe::CountWait(Ptr<const Packet> packet)
{
    EdgeTag tag;
    packet->PeekPacketTag(tag);
    m_waitSeconds[tag.Expedited()] += Simulator::Now().GetSeconds() - tag.OfferedAt();
    ++m_served[tag.Expedited()];
}

void PortProbe::Dropped(Ptr<const Packet>) { ++m_drops; }

void PortProbe::Sent(Ptr<const Packet> packet)
{
    EdgeTag tag;
    packet->PeekPacketTag(tag);
    m_userBytes[tag.User()] += packet->GetSize();
    ++m_totalPackets;
}

} // namespace fairlane
