// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef FAIRLANE_NS3_PROBE_H
#define FAIRLANE_NS3_PROBE_H

#include "abc.h"

#include "ns3/point-to-point-net-device.h"

#include <vector>

namespace fairlane
{

/// Observes the bottleneck's port, and measures from the end of the warm-up on.
class PortProbe
{
  public:
    PortProbe(uint32_t users, ns3::Time warmup);

    void Attach(ns3::Ptr<ns3::PointToPointNetDevice> device);
    /// Ends the measurement now.
    void Finish();

    /// Bytes that left the port, including PPP headers, for one user or for all users.
    uint64_t UserBytes(uint32_t user) const { return m_userBytes[user]; }
    uint64_t Bytes() const;
    /// Mean number of waiting packets over time, without the packet in transmission.
    double MeanQueue() const;
    /// Mean queueing time in seconds, and number of packets, for one class.
    double MeanWait(bool expedited) const
    {
        return m_waitSeconds[expedited] / static_cast<double>(m_served[expedited]);
    }
    uint64_t Served(bool expedited) const { return m_served[expedited]; }
    double Seconds() const { return m_seconds; }
    uint64_t Arrivals() const { return m_arrivals; }
    uint64_t AqmDrops() const { return m_aqmDrops; }
    uint64_t LimitDrops() const { return m_drops - m_aqmDrops; }
    /// Packets over the whole run, including the warm-up.
    uint64_t TotalPackets() const { return m_totalPackets; }

  private:
    void Start();
    void QueueChanged(uint32_t before, uint32_t after);
    void Arrived(ns3::Ptr<const ns3::Packet> packet);
    void CountWait(ns3::Ptr<const ns3::Packet> packet);
    void Dropped(ns3::Ptr<const ns3::Packet> packet);
    void Sent(ns3::Ptr<const ns3::Packet> packet);

    ns3::Time m_warmup;
    ns3::Time m_lastChange;
    ns3::Ptr<ns3::Queue<ns3::Packet>> m_queue;
    ns3::Ptr<AbcQueue> m_abc;
    std::vector<uint64_t> m_userBytes;
    double m_waitSeconds[2]{};
    uint64_t m_served[2]{};
    double m_packetSeconds{0};
    double m_seconds{0};
    uint64_t m_arrivals{0};
    uint64_t m_drops{0};
    uint64_t m_aqmDropsBefore{0};
    uint64_t m_aqmDrops{0};
    uint64_t m_totalPackets{0};
};

} // namespace fairlane

#endif
