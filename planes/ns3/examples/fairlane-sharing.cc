// SPDX-License-Identifier: MIT OR Apache-2.0
//
// Two clients send TCP flows to one server and share a link under a scheme of Fairlane:
//
//   client 0 --\                          bottleneck
//               edge (meters) ======= core ============== server
//   client 1 --/                      scheme
//
// Run with --PrintHelp to list the options.

#include "ns3/bulk-send-helper.h"
#include "ns3/command-line.h"
#include "ns3/config.h"
#include "ns3/fairlane-marker.h"
#include "ns3/fairlane-queue-disc.h"
#include "ns3/internet-stack-helper.h"
#include "ns3/ipv4-address-helper.h"
#include "ns3/ipv4-global-routing-helper.h"
#include "ns3/packet-sink-helper.h"
#include "ns3/packet-sink.h"
#include "ns3/point-to-point-helper.h"
#include "ns3/string.h"
#include "ns3/traffic-control-helper.h"
#include "ns3/uinteger.h"

#include <iomanip>
#include <iostream>

using namespace ns3;

namespace
{

constexpr uint16_t PORT = 5201;
constexpr uint32_t CLIENTS = 2;

struct Options
{
    std::string queue = "scheme = \"abc\"";
    std::string marker = "scheme = \"abc\"";
    std::string tcp = "TcpNewReno";
    uint32_t flows0 = 16;
    uint32_t flows1 = 1;
    DataRate rate{"50Mbps"};
    Time rtt = MilliSeconds(20);
    Time warmup = Seconds(10);
    Time measure = Seconds(20);
};

/// Reads a whole text; ns-3 would stop at the first blank.
bool
TakeText(std::string* text, const std::string& value)
{
    *text = value;
    return true;
}

Options
Parse(int argc, char** argv)
{
    Options options;
    CommandLine cmd(__FILE__);
    cmd.Usage("Two clients with TCP flows share a bottleneck under a scheme of Fairlane.");
    cmd.AddValue("queue",
                 "[queue] table of the bottleneck, in TOML",
                 MakeBoundCallback(&TakeText, &options.queue),
                 options.queue);
    cmd.AddValue("marker",
                 "[marker] table of the edge, in TOML; empty: no marker",
                 MakeBoundCallback(&TakeText, &options.marker),
                 options.marker);
    cmd.AddValue("tcp", "congestion control: TcpNewReno, TcpLinuxReno, TcpCubic, ...", options.tcp);
    cmd.AddValue("flows0", "TCP flows of client 0", options.flows0);
    cmd.AddValue("flows1", "TCP flows of client 1", options.flows1);
    cmd.AddValue("rate", "rate of the bottleneck", options.rate);
    cmd.AddValue("rtt", "round-trip time without queues", options.rtt);
    cmd.AddValue("warmup", "time before the measurement", options.warmup);
    cmd.AddValue("measure", "length of the measurement", options.measure);
    cmd.Parse(argc, argv);
    return options;
}

/// Bytes that the server has received from a client, over all of its flows.
uint64_t
Received(const ApplicationContainer& sinks)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < sinks.GetN(); ++i)
    {
        bytes += DynamicCast<PacketSink>(sinks.Get(i))->GetTotalRx();
    }
    return bytes;
}

NetDeviceContainer
Link(Ptr<Node> from, Ptr<Node> to, DataRate rate, Time delay)
{
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(rate));
    link.SetChannelAttribute("Delay", TimeValue(delay));
    // The device queue is invisible to schemes, so limit it to one packet, besides the one in transmission.
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", StringValue("1p"));
    return link.Install(from, to);
}

} // namespace

int
main(int argc, char** argv)
{
    Options options = Parse(argc, argv);
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue("ns3::" + options.tcp));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(1448));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(4 << 20));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(4 << 20));

    NodeContainer clients(CLIENTS);
    NodeContainer path(3);
    auto edge = path.Get(0);
    auto core = path.Get(1);
    auto server = path.Get(2);
    InternetStackHelper().InstallAll();

    DataRate fast(options.rate.GetBitRate() * 20);
    auto toCore = Link(edge, core, fast, options.rtt / 8);
    auto toServer = Link(core, server, options.rate, options.rtt / 4);
    TrafficControlHelper scheme;
    scheme.SetRootQueueDisc("ns3::FairlaneQueueDisc", "Config", StringValue(options.queue));
    auto disc = DynamicCast<FairlaneQueueDisc>(scheme.Install(toServer.Get(0)).Get(0));

    Ptr<FairlaneMarker> marker;
    if (!options.marker.empty())
    {
        marker = CreateObject<FairlaneMarker>();
        marker->SetAttribute("Config", StringValue(options.marker));
    }
    Ipv4AddressHelper addresses("10.0.0.0", "255.255.255.0");
    for (uint32_t i = 0; i < CLIENTS; ++i)
    {
        auto access = Link(clients.Get(i), edge, fast, options.rtt / 8);
        auto interfaces = addresses.Assign(access);
        addresses.NewNetwork();
        if (marker)
        {
            marker->AddUser(interfaces.GetAddress(0), Ipv4Mask::GetOnes(),
                            DataRate(options.rate.GetBitRate() / CLIENTS));
            marker->Install(access.Get(1));
        }
    }
    addresses.Assign(toCore);
    addresses.NewNetwork();
    auto serverAddress = addresses.Assign(toServer).GetAddress(1);
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    // Flows start at different times within a second, so that they are not synchronised.
    auto random = CreateObject<UniformRandomVariable>();
    ApplicationContainer sinks[CLIENTS];
    const uint32_t flows[CLIENTS] = {options.flows0, options.flows1};
    uint16_t port = PORT;
    for (uint32_t i = 0; i < CLIENTS; ++i)
    {
        for (uint32_t flow = 0; flow < flows[i]; ++flow, ++port)
        {
            PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
            sinks[i].Add(sink.Install(server));
            BulkSendHelper source("ns3::TcpSocketFactory", InetSocketAddress(serverAddress, port));
            source.Install(clients.Get(i)).Start(Seconds(random->GetValue(0, 1)));
        }
    }

    uint64_t before[CLIENTS] = {};
    Simulator::Schedule(options.warmup, [&] {
        for (uint32_t i = 0; i < CLIENTS; ++i)
        {
            before[i] = Received(sinks[i]);
        }
    });
    Simulator::Stop(options.warmup + options.measure);
    Simulator::Run();

    std::cout << std::fixed << std::setprecision(3);
    double total = 0;
    double goodput[CLIENTS];
    for (uint32_t i = 0; i < CLIENTS; ++i)
    {
        goodput[i] = 8e-6 * (Received(sinks[i]) - before[i]) / options.measure.GetSeconds();
        total += goodput[i];
        std::cout << "client " << i << ": " << flows[i] << " flows, " << goodput[i] << " Mbit/s\n";
    }
    std::cout << "ratio: " << goodput[0] / goodput[1] << ", together " << total << " Mbit/s\n";
    const auto& stats = disc->GetStats();
    std::cout << "bottleneck: received " << stats.nTotalReceivedPackets << ", sent "
              << stats.nTotalSentPackets << ", dropped " << stats.nTotalDroppedPackets << ", waiting "
              << disc->GetNPackets() << " packets\n";
    for (const auto* counts : {&stats.nDroppedPacketsBeforeEnqueue, &stats.nDroppedPacketsAfterDequeue})
    {
        for (const auto& [reason, packets] : *counts)
        {
            std::cout << "  " << reason << ": " << packets << "\n";
        }
    }
    Simulator::Destroy();
}
