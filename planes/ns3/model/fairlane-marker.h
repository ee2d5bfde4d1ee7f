// SPDX-License-Identifier: MIT OR Apache-2.0
#ifndef FAIRLANE_MARKER_H
#define FAIRLANE_MARKER_H

#include "ns3/fairlane.h"

#include "ns3/data-rate.h"
#include "ns3/ipv4.h"
#include "ns3/ipv6.h"
#include "ns3/net-device.h"
#include "ns3/object.h"
#include "ns3/queue-item.h"
#include "ns3/random-variable-stream.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

namespace ns3
{

/**
 * \ingroup traffic-control
 *
 * The edge of a domain: meters the packets of users where they arrive, and writes labels into them for every
 * FairlaneQueueDisc behind it. A user is a prefix of source addresses; the longest matching prefix counts.
 *
 * Existing labels are replaced. A packet of no user loses its label; queue discs treat it as label 0.
 *
 * Attributes:
 * - Config: the text of a [marker] table of Fairlane's scenarios, such as "scheme = \"abc\"\nmemory = \"3 s\"".
 *
 * One marker can meter at many devices of many nodes; these are then one edge with one meter per user.
 */
class FairlaneMarker : public Object
{
  public:
    static TypeId GetTypeId();
    FairlaneMarker();
    ~FairlaneMarker() override;

    /**
     * Adds a user. Must be called before the first packet.
     * \param network,mask prefix of its source addresses
     * \param referenceRate rate of activity 0, at least 1 bit/s
     * \param weight share in schemes with weights, above 0
     * \return the number of the user
     */
    uint32_t AddUser(Ipv4Address network, Ipv4Mask mask, DataRate referenceRate, double weight = 1);
    /// The same for an IPv6 prefix.
    uint32_t AddUser(Ipv6Address network, Ipv6Prefix prefix, DataRate referenceRate, double weight = 1);

    /**
     * Meters packets that a node receives through a device. The internet stack must be installed first. The first call
     * sets t0, the start of the measurement.
     */
    void Install(Ptr<NetDevice> device);

    /**
     * \param stream first stream index to use
     * \return the number of streams used: 1
     */
    int64_t AssignStreams(int64_t stream);

  private:
    /// A prefix and its user.
    template <typename Address, typename Mask>
    struct Prefix
    {
        Address network;
        Mask mask;
        uint32_t user;
    };
    struct Delete
    {
        void operator()(fairlane_marker* marker) const;
    };

    void DoDispose() override;
    uint32_t AddUser(DataRate referenceRate, double weight);
    /// Creates the meters. Called when all users are known.
    void Build();
    void ReceiveIpv4(Ptr<const Packet> packet, Ptr<Ipv4> ipv4, uint32_t interface);
    void ReceiveIpv6(Ptr<const Packet> packet, Ptr<Ipv6> ipv6, uint32_t interface);
    /// Labels a packet, whose parts are in `item`, or removes the label of a packet of no user.
    void Mark(const Packet& packet, const QueueDiscItem& item, const uint32_t* user);

    std::string m_config;
    Ptr<UniformRandomVariable> m_random;
    std::vector<fairlane_user> m_users;
    std::vector<Prefix<Ipv4Address, Ipv4Mask>> m_ipv4;
    std::vector<Prefix<Ipv6Address, Ipv6Prefix>> m_ipv6;
    std::set<Ptr<NetDevice>> m_devices;
    std::set<Ptr<Object>> m_stacks;
    uint64_t m_start_ns{0};
    std::unique_ptr<fairlane_marker, Delete> m_marker;
};

} // namespace ns3

#endif // FAIRLANE_MARKER_H
