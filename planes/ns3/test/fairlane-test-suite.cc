// SPDX-License-Identifier: MIT OR Apache-2.0
#include "ns3/fairlane-marker.h"
#include "ns3/fairlane-queue-disc.h"
#include "ns3/fairlane-tag.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-global-routing-helper.h"
#include "ns3/ipv4-l3-protocol.h"
#include "ns3/ipv4-queue-disc-item.h"
#include "ns3/ipv6-address-helper.h"
#include "ns3/ipv6-l3-protocol.h"
#include "ns3/node-container.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/simulator.h"
#include "ns3/socket.h"
#include "ns3/string.h"
#include "ns3/test.h"
#include "ns3/traffic-control-helper.h"
#include "ns3/udp-header.h"

using namespace ns3;

namespace
{

constexpr uint32_t PAYLOAD = 972;
/// Including 8 bytes of UDP header and 20 of IPv4.
constexpr uint32_t IP_BYTES = 1000;

Ptr<FairlaneQueueDisc>
MakeDisc(const std::string& config, int64_t stream = 0)
{
    auto disc = CreateObjectWithAttributes<FairlaneQueueDisc>("Config",
                                                              StringValue(config),
                                                              "LinkRate",
                                                              StringValue("10Mbps"));
    disc->AssignStreams(stream);
    disc->Initialize();
    return disc;
}

struct Sent
{
    const char* source = "10.0.0.1";
    uint16_t port = 7;
    uint8_t dsField = 0;
    const FairlaneTag* tag = nullptr;
};

/// A UDP packet of 1000 bytes.
Ptr<QueueDiscItem>
MakeItem(const Sent& sent)
{
    auto packet = Create<Packet>(PAYLOAD);
    UdpHeader udp;
    udp.SetSourcePort(sent.port);
    packet->AddHeader(udp);
    if (sent.tag)
    {
        packet->AddPacketTag(*sent.tag);
    }
    Ipv4Header header;
    header.SetSource(sent.source);
    header.SetDestination("10.0.1.1");
    header.SetProtocol(17);
    header.SetTos(sent.dsField);
    header.SetPayloadSize(packet->GetSize());
    return Create<Ipv4QueueDiscItem>(packet, Address(), Ipv4L3Protocol::PROT_NUMBER, header);
}

bool
Offer(Ptr<FairlaneQueueDisc> disc, double label, uint8_t dsField = 0)
{
    FairlaneTag tag(label, 0);
    Sent sent;
    sent.tag = &tag;
    sent.dsField = dsField;
    return disc->Enqueue(MakeItem(sent));
}

/// A test without state.
class Case : public TestCase
{
  public:
    Case(const std::string& name, void (Case::*run)())
        : TestCase(name),
          m_run(run)
    {
    }

    void TagsSurvive();
    void AbcDropsAsItsEquationsSay();
    void CountersAreThoseOfOtherQueueDiscs();
    void PacketsThatMakeRoomAreCounted();
    void PacketsAreMarked();
    void ClassesAreTold();
    void UsersWithoutMarkerAreSources();
    void RatesOfDevicesAreFound();
    void RandomNumbersFollowStreams();
    void MarkersMeterPrefixes();
    void MarkersReadIpv6();

  private:
    void DoRun() override
    {
        (this->*m_run)();
        Simulator::Destroy();
    }

    /// Offers packets. Offer must return false for the packets whose indices are in `dropped`, and true for the others.
    void ExpectDrops(Ptr<FairlaneQueueDisc> disc,
                     const std::vector<double>& labels,
                     const std::vector<size_t>& dropped);

    void (Case::*m_run)();
};

void
Case::TagsSurvive()
{
    auto packet = Create<Packet>(PAYLOAD);
    packet->AddPacketTag(FairlaneTag(-3.25, 7));
    auto copy = packet->Copy();
    FairlaneTag found;
    NS_TEST_ASSERT_MSG_EQ(copy->PeekPacketTag(found), true, "a copy has the tag");
    NS_TEST_EXPECT_MSG_EQ(found.GetLabel(), -3.25, "label");
    NS_TEST_EXPECT_MSG_EQ(found.GetUser(), 7, "user");
}

void
Case::ExpectDrops(Ptr<FairlaneQueueDisc> disc, const std::vector<double>& labels, const std::vector<size_t>& dropped)
{
    std::vector<size_t> found;
    for (size_t i = 0; i < labels.size(); ++i)
    {
        if (!Offer(disc, labels[i]))
        {
            found.push_back(i);
        }
    }
    NS_TEST_EXPECT_MSG_EQ((found == dropped), true, "the packets that are dropped");
}

void
Case::AbcDropsAsItsEquationsSay()
{
    // At one instant the average A_avg is the plain mean of the accepted labels. T = 3 - (A - A_avg), at least 1:
    //   0 0 0: queue 0, 1, 2 below 3; then A 0: queue 3, T 3: drop. A -1: T 4: accepted, A_avg -0.25.
    //   A -2: queue 4, T 4.75: accepted, A_avg -0.6. A -1: queue 5, T 3.4: drop. A -4: T 6.4: accepted.
    auto disc = MakeDisc("scheme = \"abc\"\nq_min = \"1 packets\"\nq_base = \"3 packets\"\ngamma = \"1 packets\"");
    ExpectDrops(disc, {0, 0, 0, 0, -1, -2, -1, -4}, {3, 6});
    NS_TEST_EXPECT_MSG_EQ_TOL(disc->GetSchemeStats().drop_threshold, 6.4, 1e-9, "threshold of the last arrival");
    NS_TEST_EXPECT_MSG_EQ(disc->GetStats().GetNDroppedPackets(FairlaneQueueDisc::AQM_DROP), 2, "by the scheme");
}

void
Case::CountersAreThoseOfOtherQueueDiscs()
{
    auto disc = MakeDisc("scheme = \"droptail\"\nlimit = \"3 packets\"");
    ExpectDrops(disc, {0, 0, 0, 0, 0}, {3, 4});
    NS_TEST_EXPECT_MSG_EQ(disc->GetNPackets(), 3, "waiting");
    NS_TEST_EXPECT_MSG_EQ(disc->GetNBytes(), 3 * IP_BYTES, "bytes that wait");
    auto first = disc->Peek();
    NS_TEST_EXPECT_MSG_EQ(disc->Dequeue(), first, "what Peek showed comes first");
    disc->Dequeue();
    disc->Dequeue();
    NS_TEST_EXPECT_MSG_EQ(disc->Dequeue(), nullptr, "nothing is left");
    const auto& stats = disc->GetStats();
    NS_TEST_EXPECT_MSG_EQ(stats.nTotalReceivedPackets, 5, "received");
    NS_TEST_EXPECT_MSG_EQ(stats.nTotalDequeuedPackets, 3, "sent");
    NS_TEST_EXPECT_MSG_EQ(stats.GetNDroppedPackets(FairlaneQueueDisc::OVERLIMIT_DROP), 2, "at a full queue");
    auto own = disc->GetSchemeStats();
    NS_TEST_EXPECT_MSG_EQ(own.offered_packets, 5, "offered");
    NS_TEST_EXPECT_MSG_EQ(own.sent_packets, 3, "sent, by the scheme");
    NS_TEST_EXPECT_MSG_EQ(own.dropped_packets[FAIRLANE_DROP_OVERLIMIT], 2, "dropped, by the scheme");
}

void
Case::PacketsThatMakeRoomAreCounted()
{
    // FQ-CoDel drops from the longest queue: of three packets of one flow, the first makes room for a packet of another
    // flow.
    auto disc = MakeDisc("scheme = \"fq_codel\"\nlimit = \"3 packets\"\ndrop_batch = 1");
    Sent one;
    Sent other;
    other.port = 8;
    auto oldest = MakeItem(one);
    disc->Enqueue(oldest);
    disc->Enqueue(MakeItem(one));
    disc->Enqueue(MakeItem(one));
    disc->Enqueue(MakeItem(other));
    NS_TEST_EXPECT_MSG_EQ(disc->GetNPackets(), 3, "waiting");
    const auto& stats = disc->GetStats();
    NS_TEST_EXPECT_MSG_EQ(stats.nTotalDroppedPacketsAfterDequeue, 1, "dropped from the queue");
    NS_TEST_EXPECT_MSG_EQ(stats.GetNDroppedPackets(FairlaneQueueDisc::PUSHED_OUT_DROP), 1, "made room");
    while (auto item = disc->Dequeue())
    {
        NS_TEST_EXPECT_MSG_NE(item, oldest, "the packet that was dropped");
    }
}

void
Case::PacketsAreMarked()
{
    // CoDel: the delay has been above the target of 5 ms for the interval of 100 ms, so the next packet is marked.
    auto disc = MakeDisc("scheme = \"codel\"\necn = true");
    constexpr uint8_t ECT0 = 2;
    for (uint32_t i = 0; i < 10; ++i)
    {
        Offer(disc, 0, ECT0);
    }
    auto expect = [this, disc](uint8_t ecn) {
        uint8_t dsField = 0;
        disc->Dequeue()->GetUint8Value(QueueItem::IP_DSFIELD, dsField);
        NS_TEST_EXPECT_MSG_EQ(+dsField, +ecn, "ECN field at " << Simulator::Now().As(Time::MS));
    };
    constexpr uint8_t CE = 3;
    Simulator::Schedule(MilliSeconds(50), [expect] { expect(ECT0); });
    Simulator::Schedule(MilliSeconds(149), [expect] { expect(ECT0); });
    Simulator::Schedule(MilliSeconds(151), [expect] { expect(CE); });
    Simulator::Run();
    NS_TEST_EXPECT_MSG_EQ(disc->GetStats().GetNMarkedPackets(FairlaneQueueDisc::MARK), 1, "marked");
    NS_TEST_EXPECT_MSG_EQ(disc->GetStats().nTotalDroppedPackets, 0, "dropped");
}

void
Case::ClassesAreTold()
{
    // The expedited class is served first, whatever the order of arrival.
    auto disc = MakeDisc("scheme = \"droptail\"\nscheduler = \"strict\"");
    Offer(disc, 0);
    constexpr uint8_t EXPEDITED_FORWARDING = 46 << 2;
    Offer(disc, 0, EXPEDITED_FORWARDING);
    for (uint8_t expected : {EXPEDITED_FORWARDING, uint8_t(0)})
    {
        uint8_t dsField = 1;
        disc->Dequeue()->GetUint8Value(QueueItem::IP_DSFIELD, dsField);
        NS_TEST_EXPECT_MSG_EQ(+dsField, +expected, "DS field");
    }
}

void
Case::UsersWithoutMarkerAreSources()
{
    // DRR among users alternates between two sources, although all flows of the first source arrived first.
    auto disc = MakeDisc("scheme = \"drr\"\nshare_per = \"user\"\nquantum = \"1000 B\"");
    Sent one;
    Sent other;
    other.source = "10.0.0.2";
    for (uint16_t port = 1; port <= 3; ++port)
    {
        one.port = port;
        disc->Enqueue(MakeItem(one));
    }
    disc->Enqueue(MakeItem(other));
    disc->Dequeue();
    auto second = DynamicCast<Ipv4QueueDiscItem>(disc->Dequeue());
    NS_TEST_EXPECT_MSG_EQ(second->GetHeader().GetSource(), Ipv4Address("10.0.0.2"), "the other source is next");
}

void
Case::RatesOfDevicesAreFound()
{
    NodeContainer nodes(2);
    InternetStackHelper().Install(nodes);
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", StringValue("8Mbps"));
    auto devices = link.Install(nodes);
    TrafficControlHelper helper;
    // 24 ms at 8 Mbit/s are 24 packets of 1000 bytes; all have the average activity.
    std::string thresholds = "q_min = \"24 ms\"\nq_base = \"24 ms\"\ngamma = \"1 ms\"";
    helper.SetRootQueueDisc("ns3::FairlaneQueueDisc",
                            "Config",
                            StringValue("scheme = \"abc\"\n" + thresholds));
    auto disc = DynamicCast<FairlaneQueueDisc>(helper.Install(devices.Get(0)).Get(0));
    Simulator::Schedule(Seconds(1), [this, disc] {
        uint32_t accepted = 0;
        while (accepted < 100 && Offer(disc, 0))
        {
            ++accepted;
        }
        NS_TEST_EXPECT_MSG_EQ(accepted, 24, "packets in 24 ms of the device's rate");
    });
    Simulator::Run();
}

void
Case::RandomNumbersFollowStreams()
{
    // RED drops at random at an average of 10 packets.
    auto drops = [](int64_t stream) {
        auto disc = MakeDisc("scheme = \"red\"\nweight = 1", stream);
        std::vector<bool> accepted;
        for (uint32_t i = 0; i < 200; ++i)
        {
            accepted.push_back(Offer(disc, 0));
            if (disc->GetNPackets() > 10)
            {
                disc->Dequeue();
            }
        }
        return accepted;
    };
    NS_TEST_EXPECT_MSG_EQ((drops(1) == drops(1)), true, "the same stream, the same drops");
    NS_TEST_EXPECT_MSG_EQ((drops(1) == drops(2)), false, "another stream, other drops");
}

/// Two clients, an edge and a server. Records the labels that leave the edge, by source.
class Edge
{
  public:
    Edge()
    {
        InternetStackHelper().Install(nodes);
        Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
        PointToPointHelper link;
        for (uint32_t i = 0; i < 3; ++i)
        {
            auto devices = link.Install(nodes.Get(i), nodes.Get(3));
            edgeDevices.Add(devices.Get(1));
            hosts.push_back(addresses.Assign(devices).GetAddress(0));
            addresses.NewNetwork();
        }
        Ipv4GlobalRoutingHelper::PopulateRoutingTables();
        auto server = nodes.Get(2)->GetObject<Ipv4L3Protocol>();
        server->TraceConnectWithoutContext("Rx", MakeCallback(&Edge::Receive, this));
    }

    /// Sends a packet of 1000 bytes from a client to the server, with a tag if given.
    void Send(uint32_t client, const FairlaneTag* tag = nullptr)
    {
        auto socket = Socket::CreateSocket(nodes.Get(client), TypeId::LookupByName("ns3::UdpSocketFactory"));
        auto packet = Create<Packet>(PAYLOAD);
        if (tag)
        {
            packet->AddPacketTag(*tag);
        }
        socket->SendTo(packet, 0, InetSocketAddress(hosts[2], 9));
    }

    NodeContainer nodes{4};
    NetDeviceContainer edgeDevices;
    std::vector<Ipv4Address> hosts;
    std::map<Ipv4Address, std::vector<double>> labels;
    uint32_t unlabelled{0};

  private:
    void Receive(Ptr<const Packet> packet, Ptr<Ipv4>, uint32_t)
    {
        Ipv4Header header;
        packet->PeekHeader(header);
        FairlaneTag tag;
        if (packet->PeekPacketTag(tag))
        {
            labels[header.GetSource()].push_back(tag.GetLabel());
        }
        else
        {
            ++unlabelled;
        }
    }
};

void
Case::MarkersMeterPrefixes()
{
    Edge edge;
    auto marker = CreateObject<FairlaneMarker>();
    marker->SetAttribute("Config", StringValue("scheme = \"abc\"\nmemory = \"3 s\""));
    // The second prefix is longer, and belongs to client 1.
    NS_TEST_EXPECT_MSG_EQ(marker->AddUser("10.0.0.0", Ipv4Mask("/16"), DataRate("1Mbps")), 0, "number");
    NS_TEST_EXPECT_MSG_EQ(marker->AddUser("10.0.1.0", Ipv4Mask("/24"), DataRate("2Mbps")), 1, "number");
    marker->Install(edge.edgeDevices.Get(0));
    marker->Install(edge.edgeDevices.Get(1));
    FairlaneTag forged(-32, 0);
    for (uint32_t client : {0, 1})
    {
        Simulator::Schedule(Seconds(1), [&edge, client] { edge.Send(client); });
        Simulator::Schedule(Seconds(2), [&edge, client, &forged] { edge.Send(client, &forged); });
    }
    Simulator::Run();
    auto& zero = edge.labels[edge.hosts[0]];
    auto& one = edge.labels[edge.hosts[1]];
    NS_TEST_ASSERT_MSG_EQ(zero.size() + one.size(), 4, "all are labelled");
    // abc2018 eq. (1)-(5), t0 = 0, packet at time t: R = 8000 bit / (M (1 - exp(-t/M))), A = log2(R/R_r). The packet is
    // sent after 1 s. At the edge it has 1002 bytes with PPP, at 32768 bit/s.
    double elapsed = 1 + 1002 * 8 / 32768.0;
    double expected = std::log2(8000 / (3 * (1 - std::exp(-elapsed / 3))) / 1e6);
    NS_TEST_EXPECT_MSG_EQ_TOL(zero[0], expected, 1e-9, "first label");
    for (uint32_t i : {0, 1})
    {
        NS_TEST_EXPECT_MSG_EQ_TOL(zero[i] - one[i], 1, 1e-9, "twice the reference rate is one less of activity");
    }
    NS_TEST_EXPECT_MSG_GT(zero[1], zero[0], "a forged label is replaced");
    NS_TEST_EXPECT_MSG_EQ(edge.unlabelled, 0, "without label");
}

/// Observations on IPv6: labels of UDP packets, number of packets without a label.
struct Observer
{
    void Receive(Ptr<const Packet> packet, Ptr<Ipv6>, uint32_t)
    {
        Ipv6Header header;
        packet->PeekHeader(header);
        FairlaneTag tag;
        bool isLabelled = packet->PeekPacketTag(tag);
        strangers += !isLabelled;
        if (isLabelled && header.GetNextHeader() == Ipv6Header::IPV6_UDP)
        {
            labels.push_back(tag.GetLabel());
            at = Simulator::Now();
        }
    }

    std::vector<double> labels;
    Time at;
    uint32_t strangers{0};
};

void
Case::MarkersReadIpv6()
{
    NodeContainer nodes(2);
    InternetStackHelper().Install(nodes);
    auto devices = PointToPointHelper().Install(nodes);
    Ipv6AddressHelper addresses;
    addresses.SetBase("fd00::", Ipv6Prefix(64));
    auto interfaces = addresses.Assign(devices);
    auto marker = CreateObject<FairlaneMarker>();
    marker->SetAttribute("Config", StringValue("scheme = \"abc\"\nmemory = \"3 s\""));
    marker->AddUser("fd00::", Ipv6Prefix(64), DataRate("1Mbps"));
    marker->Install(devices.Get(1));
    Observer observer;
    nodes.Get(1)->GetObject<Ipv6L3Protocol>()->TraceConnectWithoutContext(
        "Rx", MakeCallback(&Observer::Receive, &observer));
    Simulator::Schedule(Seconds(5), [&] {
        auto socket = Socket::CreateSocket(nodes.Get(0), TypeId::LookupByName("ns3::UdpSocketFactory"));
        socket->Bind6();
        socket->SendTo(Create<Packet>(PAYLOAD), 0, Inet6SocketAddress(interfaces.GetAddress(1, 1), 9));
    });
    Simulator::Run();
    // Neighbour discovery uses link-local addresses, which belong to no user here.
    NS_TEST_EXPECT_MSG_GT(observer.strangers, 0, "packets of nobody");
    NS_TEST_ASSERT_MSG_EQ(observer.labels.size(), 1, "UDP packets");
    // 972 bytes plus 8 of UDP and 40 of IPv6, over the time since t0 = 0.
    double rate = 8 * 1020 / (3 * (1 - std::exp(-observer.at.GetSeconds() / 3)));
    NS_TEST_EXPECT_MSG_EQ_TOL(observer.labels[0], std::log2(rate / 1e6), 1e-9, "label");
}

class FairlaneTestSuite : public TestSuite
{
  public:
    FairlaneTestSuite()
        : TestSuite("fairlane")
    {
        Add("labels and users travel with the packet", &Case::TagsSurvive);
        Add("ABC drops as eq. (6) to (10) of abc2018 say", &Case::AbcDropsAsItsEquationsSay);
        Add("counters and Peek are those of other queue discs", &Case::CountersAreThoseOfOtherQueueDiscs);
        Add("packets that make room are counted", &Case::PacketsThatMakeRoomAreCounted);
        Add("packets are marked where they wait", &Case::PacketsAreMarked);
        Add("the class is that of the DSCP", &Case::ClassesAreTold);
        Add("without a marker a source is a user", &Case::UsersWithoutMarkerAreSources);
        Add("the rate of the link is that of the device", &Case::RatesOfDevicesAreFound);
        Add("random numbers follow the stream", &Case::RandomNumbersFollowStreams);
        Add("markers meter prefixes and replace labels", &Case::MarkersMeterPrefixes);
        Add("markers read IPv6 and leave strangers without label", &Case::MarkersReadIpv6);
    }

  private:
    void Add(const std::string& name, void (Case::*run)())
    {
        AddTestCase(new Case(name, run));
    }
};

FairlaneTestSuite g_fairlaneTestSuite;

} // namespace
