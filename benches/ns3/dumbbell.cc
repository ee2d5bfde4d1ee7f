// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The one-sided dumbbell of abc2018 in ns-3: users behind separate access links share one bottleneck to a server.
//
//     user --(access)-- edge --(bottleneck)-- server
//
// Runs one replication and prints one JSON object; compare.py runs the program interleaved with Fairlane. The program
// links ns-3, which is under the GNU GPL version 2. These files are our own work, and the MIT licence, one of the two
// above, is compatible with that licence. No part of ns-3 is in this repository.
//
// Choices that affect results, each as in Fairlane's default scenario:
// 1. There is no hidden queue. The policy is in the bottleneck device's own queue. The devices of the bottleneck have
//    no flow control towards the traffic-control layer and no queue disc. A queue disc of ns-3 replaces the device's
//    queue (disc.h). The packet in transmission is not in the queue.
// 2. Lengths include the PPP header of 2 bytes: in the meters, in the throughput, on the links.
// 3. TCP never gives up (DataRetries), and socket buffers do not limit it unless an option says so.
// 4. Without SACK, ns-3 (seen in 3.37, unchanged in 3.44) guesses from duplicate ACKs which segments have arrived, and
//    keeps the guesses when fast recovery ends. ns-3 then assumes that little or nothing is in flight while a whole
//    window is in flight, and some flows never slow down. The option mendRenoSack discards the guesses when recovery
//    ends, together with the duplicate ACKs. It has no effect with SACK.
// 5. Meters see a packet when the edge has received all of it, that is when it is offered to the bottleneck.

#include "abc.h"
#include "classes.h"
#include "disc.h"
#include "mended.h"
#include "poisson.h"
#include "probe.h"

#include "ns3/bulk-send-application.h"
#include "ns3/command-line.h"
#include "ns3/config.h"
#include "ns3/drop-tail-queue.h"
#include "ns3/internet-module.h"
#include "ns3/object-factory.h"
#include "ns3/packet-sink.h"
#include "ns3/point-to-point-channel.h"
#include "ns3/pointer.h"
#include "ns3/queue-disc.h"
#include "ns3/rng-seed-manager.h"
#include "ns3/string.h"
#include "ns3/tcp-tx-buffer.h"
#include "ns3/traffic-control-layer.h"

#include <chrono>
#include <ctime>
#include <iomanip>
#include <iostream>
#include <map>
#include <sstream>

using namespace ns3;
using namespace fairlane;

namespace
{

constexpr uint16_t TCP_PORT = 5000; ///< of the first group; each further group has the next port
constexpr uint16_t UDP_PORT = 5001;
constexpr uint32_t UDP_WIRE_BYTES = 1500;
constexpr uint32_t UDP_HEADER_BYTES = 30; // 2 PPP, 20 IP, 8 UDP

/// Users with the same behaviour.
struct Group
{
    uint32_t users{1};
    uint32_t flows{0};      ///< TCP flows of each user
    double poisson{0};      ///< bit/s of each user, 0 for none
    double referenceRate{10000};
    bool expedited{false};  ///< traffic class EF, otherwise BE
    std::string control;    ///< congestion control; empty for the common one
    double accessDelay{-1}; ///< of its access links in seconds; negative for the common one
    uint32_t delayedAck{0}; ///< segments per ACK; 0 for the common value
    double startFrom{0};
    double startUntil{15};
};

struct Options
{
    std::string policy{"droptail"};
    std::string disc;
    std::string limit{"24p"};
    AbcParams abc;
    double meterMemory{3};
    double accountingBe{1};
    double accountingEf{3};
    double beOffset{0};
    std::string accessRate{"100Mbps"};
    std::string accessDelay{"0.1ms"};
    std::string accessLimit{"50p"};
    std::string rate{"10Mbps"};
    std::string delay{"5ms"};
    std::string groups{"users=1,flows=10;users=10,flows=1"};
    double warmup{100};
    double measure{100};
    uint32_t seed{1};
    uint64_t run{1};
    std::string tcp{"NewReno"};
    std::string recovery{"Prr"};
    bool sack{false};
    bool mendRenoSack{true};
    bool hystart{true};
    bool limitedTransmit{true};
    uint32_t mss{1446};
    uint32_t initialWindow{1};
    uint32_t delayedAck{2};
    std::string delayedAckTimeout{"200ms"};
    std::string minRto{"1s"};
    std::string synTimeout{"3s"};
    uint32_t socketBuffer{2 << 20};
    bool timestamps{true};
    bool ecn{false};
    bool mended{false};
    double rttGain{0.125};
};

void ReadOptions(Options& options, int argc, char** argv)
{
    CommandLine line;
    line.Usage("One replication of the one-sided dumbbell of abc2018; prints a JSON object.");
    line.AddValue("policy", "droptail, abc or disc, at the bottleneck", options.policy);
    line.AddValue("disc",
                  "queue disc of ns-3 for the policy disc, such as ns3::RedQueueDisc[MinTh=5|MaxTh=15]",
                  options.disc);
    line.AddValue("limit", "limit of the bottleneck's queue, such as 24p", options.limit);
    line.AddValue("qMin", "Q_min in packets", options.abc.qMin);
    line.AddValue("qBase", "Q_base in packets", options.abc.qBase);
    line.AddValue("gamma", "gamma in packets", options.abc.gamma);
    line.AddValue("averagerMemory", "M_AA in seconds", options.abc.averagerMemory);
    line.AddValue("meterMemory", "M_AM in seconds", options.meterMemory);
    line.AddValue("accountingBe", "a_BE", options.accountingBe);
    line.AddValue("accountingEf", "a_EF", options.accountingEf);
    line.AddValue("beOffset",
                  "offset of BE in seconds for droptail and abc; 0 is FIFO, inf is strict priority",
                  options.beOffset);
    line.AddValue("accessRate", "rate of an access link", options.accessRate);
    line.AddValue("accessDelay", "delay of an access link", options.accessDelay);
    line.AddValue("accessLimit", "limit of an access link's queue", options.accessLimit);
    line.AddValue("rate", "rate of the bottleneck", options.rate);
    line.AddValue("delay", "delay of the bottleneck", options.delay);
    line.AddValue("groups",
                  "groups, separated by ';', of key=value, separated by ',': users, flows (TCP, per user), poisson "
                  "(bit/s, per user), reference (bit/s), ef (1 for traffic class EF), from, until (window of "
                  "the starts in seconds), "
                  "control (as tcp), delayedAck, access (delay in seconds)",
                  options.groups);
    line.AddValue("warmup", "seconds before the measurement", options.warmup);
    line.AddValue("measure", "seconds of the measurement", options.measure);
    line.AddValue("seed", "seed", options.seed);
    line.AddValue("run", "replication", options.run);
    line.AddValue("tcp", "congestion control, such as NewReno, LinuxReno, Cubic", options.tcp);
    line.AddValue("recovery", "Prr (RFC 6937, default of ns-3) or Classic (RFC 6582)", options.recovery);
    line.AddValue("sack", "selective acknowledgements", options.sack);
    line.AddValue("mendRenoSack", "without SACK: drop guesses of arrivals after recovery", options.mendRenoSack);
    line.AddValue("hystart", "hybrid slow start of CUBIC", options.hystart);
    line.AddValue("limitedTransmit", "limited transmit", options.limitedTransmit);
    line.AddValue("mss", "payload of a full segment in bytes", options.mss);
    line.AddValue("initialWindow", "initial window in segments", options.initialWindow);
    line.AddValue("delayedAck", "segments per ACK", options.delayedAck);
    line.AddValue("delayedAckTimeout", "longest delay of an ACK", options.delayedAckTimeout);
    line.AddValue("minRto", "least retransmission timeout", options.minRto);
    line.AddValue("synTimeout", "timeout of the first SYN", options.synTimeout);
    line.AddValue("socketBuffer", "send and receive buffer in bytes", options.socketBuffer);
    line.AddValue("timestamps",
                  "time stamps, by which RTTs are known to a millisecond; without, exactly",
                  options.timestamps);
    line.AddValue("ecn", "whether TCP uses ECN", options.ecn);
    line.AddValue("mended", "congestion controls without the faults of mended.h", options.mended);
    line.AddValue("rttGain", "weight of a new RTT in the one that is smoothed", options.rttGain);
    line.Parse(argc, argv);
    const bool known = options.policy == "droptail" || options.policy == "abc" || options.policy == "disc";
    NS_ABORT_MSG_UNLESS(known, "--policy=" << options.policy << " must be droptail, abc or disc");
}

std::vector<Group> ReadGroups(const std::string& text)
{
    std::vector<Group> groups;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line, ';');)
    {
        Group group;
        std::istringstream words(line);
        for (std::string word; std::getline(words, word, ',');)
        {
            const auto equals = word.find('=');
            NS_ABORT_MSG_IF(equals == std::string::npos, "--groups: " << word << " must be key=value");
            const std::string key = word.substr(0, equals);
            if (key == "control")
            {
                group.control = word.substr(equals + 1);
                continue;
            }
            const double value = std::stod(word.substr(equals + 1));
            if (key == "users")
                group.users = static_cast<uint32_t>(value);
            else if (key == "flows")
                group.flows = static_cast<uint32_t>(value);
            else if (key == "poisson")
                group.poisson = value;
            else if (key == "reference")
                group.referenceRate = value;
            else if (key == "ef")
                group.expedited = value != 0;
            else if (key == "from")
                group.startFrom = value;
            else if (key == "until")
                group.startUntil = value;
            else if (key == "delayedAck")
                group.delayedAck = static_cast<uint32_t>(value);
            else if (key == "access")
                group.accessDelay = value;
            else
                NS_ABORT_MSG("--groups: " << key << " is not a key");
        }
        groups.push_back(group);
    }
    return groups;
}

/// Class of a congestion control or a recovery: the mended class if there is one and the options request it, otherwise
/// that of ns-3.
TypeId MendedType(const Options& options, const std::string& name)
{
    TypeId type;
    if (options.mended && TypeId::LookupByNameFailSafe("fairlane::Mended" + name, &type))
    {
        return type;
    }
    return TypeId::LookupByName("ns3::Tcp" + name);
}

void SetTcpDefaults(const Options& options)
{
    const auto cubic = TypeId::LookupByName("ns3::TcpCubic");
    const auto congestion = MendedType(options, options.tcp);
    const auto recovery = MendedType(options, options.recovery + "Recovery");
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", TypeIdValue(congestion));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", TypeIdValue(recovery));
    if (congestion == cubic)
    {
        Config::SetDefault("ns3::TcpCubic::HyStart", BooleanValue(options.hystart));
    }
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(options.sack));
    Config::SetDefault("ns3::TcpSocketBase::LimitedTransmit", BooleanValue(options.limitedTransmit));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", StringValue(options.minRto));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(options.mss));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(options.initialWindow));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(options.delayedAck));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", StringValue(options.delayedAckTimeout));
    Config::SetDefault("ns3::TcpSocket::ConnTimeout", StringValue(options.synTimeout));
    Config::SetDefault("ns3::TcpSocket::DataRetries", UintegerValue(1000000000));
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(options.socketBuffer));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(options.socketBuffer));
    Config::SetDefault("ns3::TcpSocketBase::Timestamp", BooleanValue(options.timestamps));
    Config::SetDefault("ns3::TcpSocketBase::UseEcn", EnumValue(options.ecn ? TcpSocketState::On : TcpSocketState::Off));
    Config::SetDefault("ns3::RttMeanDeviation::Alpha", DoubleValue(options.rttGain));
    if (options.mended)
    {
        Config::SetDefault("ns3::TcpDctcp::DctcpAlphaOnInit", DoubleValue(MendedDctcp::FirstAlpha));
    }
}

/// Accepts connections at a port and reads the data. Receivers have the congestion control of their senders, since
/// DCTCP decides when an ACK echoes a mark.
class TcpSink
{
  public:
    static void Listen(Ptr<Node> node, uint16_t port, TypeId control, uint32_t delayedAck)
    {
        auto listener = node->GetObject<TcpL4Protocol>()->CreateSocket(control);
        listener->SetAttribute("DelAckCount", UintegerValue(delayedAck));
        listener->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
        listener->Listen();
        listener->ShutdownSend();
        listener->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address&>(),
                                    MakeCallback(&TcpSink::Accept));
    }

  private:
    static void Accept(Ptr<Socket> socket, const Address&) { socket->SetRecvCallback(MakeCallback(&TcpSink::Read)); }

    static void Read(Ptr<Socket> socket)
    {
        while (auto packet = socket->Recv())
        {
            if (packet->GetSize() == 0)
            {
                break;
            }
        }
    }
};

std::string Number(double value)
{
    std::ostringstream text;
    text << std::setprecision(12) << value;
    return text.str();
}

Ptr<Queue<Packet>> DropTail(const std::string& limit)
{
    auto queue = CreateObject<DropTailQueue<Packet>>();
    queue->SetMaxSize(QueueSize(limit));
    return queue;
}

/// Creates the queue disc of the options, with their limit.
Ptr<QueueDisc> MakeDisc(const Options& options)
{
    ObjectFactory factory;
    std::istringstream(options.disc) >> factory;
    auto disc = factory.Create<QueueDisc>();
    NS_ABORT_MSG_UNLESS(disc, "--disc=" << options.disc << " is no queue disc");
    disc->SetMaxSize(QueueSize(options.limit));
    return disc;
}

/// Adds one end of a link. Without a NetDeviceQueueInterface, upper layers do not wait for the device, and no queue
/// disc is installed.
Ptr<PointToPointNetDevice> AddDevice(Ptr<Node> node, const std::string& rate, Ptr<Queue<Packet>> queue)
{
    auto device = CreateObject<PointToPointNetDevice>();
    device->SetAddress(Mac48Address::Allocate());
    device->SetDataRate(DataRate(rate));
    device->SetQueue(queue);
    node->AddDevice(device);
    return device;
}

/// Watches the congestion state of a group's TCP senders.
class TcpWatch
{
  public:
    /// Number of times that fast recovery and the loss state were entered, over the whole run.
    uint64_t Recoveries() const { return m_recoveries; }
    uint64_t Losses() const { return m_losses; }
    /// Segments retransmitted over the whole run.
    uint64_t Retransmissions() const { return m_retransmissions; }

    void Add(Ptr<BulkSendApplication> source, bool mendRenoSack)
    {
        auto socket = DynamicCast<TcpSocketBase>(source->GetSocket());
        socket->TraceConnectWithoutContext("CongState", MakeCallback(&TcpWatch::Count, this));
        socket->TraceConnectWithoutContext("Tx", MakeCallback(&TcpWatch::CountCopies, this));
        PointerValue control;
        socket->GetAttribute("CongestionOps", control);
        if (auto bbr = DynamicCast<MendedBbr>(control.Get<TcpCongestionOps>()))
        {
            bbr->Watch(socket->GetTxBuffer());
        }
        if (mendRenoSack)
        {
            auto reset = MakeBoundCallback(&TcpWatch::ResetRenoSack, PeekPointer(socket));
            socket->TraceConnectWithoutContext("CongState", reset);
        }
    }

  private:
    using State = TcpSocketState::TcpCongState_t;

    void Count(State, State state)
    {
        m_recoveries += state == TcpSocketState::CA_RECOVERY;
        m_losses += state == TcpSocketState::CA_LOSS;
    }

    void CountCopies(Ptr<const Packet> packet, const TcpHeader& header, Ptr<const TcpSocketBase> socket)
    {
        if (packet->GetSize() == 0)
        {
            return;
        }
        auto& end = m_end.emplace(socket, header.GetSequenceNumber()).first->second;
        m_retransmissions += header.GetSequenceNumber() < end;
        end = std::max(end, header.GetSequenceNumber() + packet->GetSize());
    }

    /// Implements choice 4 in the comment at the top of this file.
    static void ResetRenoSack(TcpSocketBase* socket, State, State state)
    {
        if (state == TcpSocketState::CA_OPEN)
        {
            socket->GetTxBuffer()->ResetRenoSack();
        }
    }

    uint64_t m_recoveries{0};
    uint64_t m_losses{0};
    uint64_t m_retransmissions{0};
    /// End of the data that each socket has sent.
    std::map<Ptr<const TcpSocketBase>, SequenceNumber32> m_end;
};

class Dumbbell
{
  public:
    explicit Dumbbell(const Options& options);

    PortProbe& Bottleneck() { return m_probe; }
    const std::vector<Group>& Groups() const { return m_groups; }
    const TcpWatch& Tcp(size_t group) const { return m_tcp[group]; }
    uint64_t AccessDrops() const;

  private:
    void AddBottleneck();
    void AddUser(const Group& group, TcpWatch& watch, uint16_t port);
    void AddSources(Ptr<Node> node, const Group& group, TcpWatch& watch, uint16_t port);
    Ipv4InterfaceContainer Connect(Ptr<PointToPointNetDevice> a, Ptr<PointToPointNetDevice> b,
                                   const std::string& delay);
    void Mark(uint32_t user, bool expedited, Ptr<const Packet> packet);

    const Options& m_options;
    std::vector<Group> m_groups;
    std::vector<TcpWatch> m_tcp;
    PortProbe m_probe;
    InternetStackHelper m_internet;
    Ipv4AddressHelper m_addresses;
    Ptr<UniformRandomVariable> m_uniform{CreateObject<UniformRandomVariable>()};
    Ptr<Node> m_edge{CreateObject<Node>()};
    Ptr<Node> m_server{CreateObject<Node>()};
    Ipv4Address m_serverAddress;
    std::vector<ActivityMeter> m_meters;
    std::vector<Ptr<Queue<Packet>>> m_accessQueues;
};

uint32_t CountUsers(const std::vector<Group>& groups)
{
    uint32_t users = 0;
    for (const auto& group : groups)
    {
        users += group.users;
    }
    return users;
}

Dumbbell::Dumbbell(const Options& options)
    : m_options(options),
      m_groups(ReadGroups(options.groups)),
      m_tcp(m_groups.size()),
      m_probe(CountUsers(m_groups), Seconds(options.warmup)),
      m_addresses("10.0.0.0", "255.255.255.252")
{
    m_internet.SetRoutingHelper(Ipv4StaticRoutingHelper()); // the default, a list of protocols, only costs time
    m_internet.SetIpv6StackInstall(false);
    AddBottleneck();
    for (size_t i = 0; i < m_groups.size(); ++i)
    {
        auto& group = m_groups[i];
        group.control = group.control.empty() ? options.tcp : group.control;
        const auto port = static_cast<uint16_t>(TCP_PORT + i);
        const uint32_t delayedAck = group.delayedAck ? group.delayedAck : options.delayedAck;
        TcpSink::Listen(m_server, port, MendedType(options, group.control), delayedAck);
        for (uint32_t user = 0; user < group.users; ++user)
        {
            AddUser(group, m_tcp[i], port);
        }
    }
}

void Dumbbell::AddBottleneck()
{
    m_internet.Install(NodeContainer(m_edge, m_server));
    Ptr<Queue<Packet>> queue;
    if (m_options.policy == "abc")
    {
        queue = CreateObject<AbcQueue>(m_options.abc, m_options.beOffset);
        queue->SetMaxSize(QueueSize(m_options.limit));
    }
    else if (m_options.policy == "disc")
    {
        queue = CreateObject<DiscQueue>(MakeDisc(m_options));
    }
    else
    {
        queue = CreateObject<ClassQueue>(m_options.beOffset);
        queue->SetMaxSize(QueueSize(m_options.limit));
    }
    auto port = AddDevice(m_edge, m_options.rate, queue);
    auto back = AddDevice(m_server, m_options.rate, DropTail("1000000p")); // ACKs are never lost
    auto interfaces = Connect(port, back, m_options.delay);
    m_serverAddress = interfaces.GetAddress(1);
    Ipv4StaticRoutingHelper routing;
    routing.GetStaticRouting(m_server->GetObject<Ipv4>())->SetDefaultRoute(interfaces.GetAddress(0), 1);
    m_probe.Attach(port);

    auto sink = CreateObject<PacketSink>();
    sink->SetAttribute("Protocol", TypeIdValue(UdpSocketFactory::GetTypeId()));
    sink->SetAttribute("Local", AddressValue(InetSocketAddress(Ipv4Address::GetAny(), UDP_PORT)));
    m_server->AddApplication(sink);
}

void Dumbbell::AddUser(const Group& group, TcpWatch& watch, uint16_t port)
{
    const auto user = static_cast<uint32_t>(m_meters.size());
    auto node = CreateObject<Node>();
    m_internet.Install(node);
    node->GetObject<TcpL4Protocol>()->SetAttribute("SocketType", TypeIdValue(MendedType(m_options, group.control)));
    node->AggregateObject(CreateObject<MendedSocketFactory>());
    auto uplink = AddDevice(node, m_options.accessRate, DropTail(m_options.accessLimit));
    auto downlink = AddDevice(m_edge, m_options.accessRate, DropTail("1000000p"));
    const std::string delay = group.accessDelay < 0 ? m_options.accessDelay : Number(group.accessDelay) + "s";
    auto interfaces = Connect(uplink, downlink, delay);
    Ipv4StaticRoutingHelper routing;
    routing.GetStaticRouting(node->GetObject<Ipv4>())->SetDefaultRoute(interfaces.GetAddress(1), 1);
    m_accessQueues.push_back(uplink->GetQueue());

    m_meters.emplace_back(m_options.meterMemory, group.referenceRate);
    downlink->TraceConnectWithoutContext("PhyRxEnd", MakeCallback(&Dumbbell::Mark, this).Bind(user, group.expedited));
    AddSources(node, group, watch, port);
}

void Dumbbell::AddSources(Ptr<Node> node, const Group& group, TcpWatch& watch, uint16_t port)
{
    auto start = [&] { return Seconds(m_uniform->GetValue(group.startFrom, group.startUntil)); };
    for (uint32_t flow = 0; flow < group.flows; ++flow)
    {
        auto source = CreateObject<BulkSendApplication>();
        const auto sockets = m_options.mended ? MendedSocketFactory::GetTypeId() : TcpSocketFactory::GetTypeId();
        source->SetAttribute("Protocol", TypeIdValue(sockets));
        source->SetAttribute("Remote", AddressValue(InetSocketAddress(m_serverAddress, port)));
        source->SetAttribute("SendSize", UintegerValue(m_options.mss));
        const Time at = start();
        source->SetStartTime(at);
        node->AddApplication(source);
        const bool mend = m_options.mendRenoSack && !m_options.sack;
        Simulator::Schedule(at + NanoSeconds(1), &TcpWatch::Add, &watch, source, mend);
    }
    if (group.poisson > 0)
    {
        auto source = CreateObject<PoissonSource>(InetSocketAddress(m_serverAddress, UDP_PORT), group.poisson,
                                                  UDP_WIRE_BYTES - UDP_HEADER_BYTES, UDP_WIRE_BYTES);
        source->SetStartTime(start());
        node->AddApplication(source);
    }
}

Ipv4InterfaceContainer Dumbbell::Connect(Ptr<PointToPointNetDevice> a, Ptr<PointToPointNetDevice> b,
                                         const std::string& delay)
{
    auto channel = CreateObject<PointToPointChannel>();
    channel->SetAttribute("Delay", StringValue(delay));
    a->Attach(channel);
    b->Attach(channel);
    auto interfaces = m_addresses.Assign(NetDeviceContainer(NetDeviceContainer(a), NetDeviceContainer(b)));
    m_addresses.NewNetwork();
    for (const Ptr<NetDevice>& device : {Ptr<NetDevice>(a), Ptr<NetDevice>(b)})
    {
        auto control = device->GetNode()->GetObject<TrafficControlLayer>();
        NS_ABORT_MSG_IF(control && control->GetRootQueueDiscOnDevice(device), "a queue disc hides above a device");
    }
    return interfaces;
}

void Dumbbell::Mark(uint32_t user, bool expedited, Ptr<const Packet> packet)
{
    const double factor = expedited ? m_options.accountingEf : m_options.accountingBe;
    const double activity = m_options.policy == "abc" ? m_meters[user].Update(factor * packet->GetSize()) : 0.0;
    packet->AddPacketTag(EdgeTag(user, expedited, activity));
}

uint64_t Dumbbell::AccessDrops() const
{
    uint64_t drops = 0;
    for (const auto& queue : m_accessQueues)
    {
        drops += queue->GetTotalDroppedPackets();
    }
    return drops;
}

double CpuSeconds()
{
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void Print(Dumbbell& network, const Options& options, double wallSeconds, double cpuSeconds)
{
    const PortProbe& probe = network.Bottleneck();
    auto& out = std::cout;
    out << std::setprecision(12) << "{\"groups\":[";
    uint32_t user = 0;
    for (size_t i = 0; i < network.Groups().size(); ++i)
    {
        const uint32_t users = network.Groups()[i].users;
        double sum = 0;
        std::ostringstream list;
        for (uint32_t k = 0; k < users; ++k, ++user)
        {
            const double throughput = 8.0 * static_cast<double>(probe.UserBytes(user)) / probe.Seconds();
            sum += throughput;
            list << (k ? "," : "") << std::setprecision(12) << throughput;
        }
        out << (i ? "," : "") << "{\"users\":" << users << ",\"throughput_bps\":" << sum / users
            << ",\"user_throughput_bps\":[" << list.str() << "],\"recoveries\":" << network.Tcp(i).Recoveries()
            << ",\"losses\":" << network.Tcp(i).Losses()
            << ",\"retransmissions\":" << network.Tcp(i).Retransmissions() << "}";
    }
    const double capacity = static_cast<double>(DataRate(options.rate).GetBitRate()) * probe.Seconds();
    const double arrivals = static_cast<double>(std::max<uint64_t>(probe.Arrivals(), 1));
    const auto drops = probe.AqmDrops() + probe.LimitDrops();
    out << "],\"utilisation\":" << 8.0 * static_cast<double>(probe.Bytes()) / capacity
        << ",\"queue_mean_packets\":" << probe.MeanQueue() << ",\"arrivals\":" << probe.Arrivals()
        << ",\"wait_seconds\":{" << (probe.Served(false) ? "\"BE\":" + Number(probe.MeanWait(false)) : "")
        << (probe.Served(false) && probe.Served(true) ? "," : "")
        << (probe.Served(true) ? "\"EF\":" + Number(probe.MeanWait(true)) : "") << "}"
        << ",\"drops\":{\"aqm\":" << probe.AqmDrops() << ",\"overlimit\":" << probe.LimitDrops() << "}"
        << ",\"drop_share\":" << static_cast<double>(drops) / arrivals
        << ",\"access_drops\":" << network.AccessDrops() << ",\"bottleneck_packets\":" << probe.TotalPackets()
        << ",\"events\":" << Simulator::GetEventCount() << ",\"wall_seconds\":" << wallSeconds
        << ",\"cpu_seconds\":" << cpuSeconds << "}" << std::endl;
}

} // namespace

int main(int argc, char** argv)
{
    Options options;
    ReadOptions(options, argc, argv);
    RngSeedManager::SetSeed(options.seed);
    RngSeedManager::SetRun(options.run);
    SetTcpDefaults(options);
    Dumbbell network(options);

    Simulator::Stop(Seconds(options.warmup + options.measure));
    const auto wallStart = std::chrono::steady_clock::now();
    const double cpuStart = CpuSeconds();
    Simulator::Run();
    const double cpuSeconds = CpuSeconds() - cpuStart;
    const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - wallStart;
    network.Bottleneck().Finish();
    Print(network, options, wall.count(), cpuSeconds);
    Simulator::Destroy();
    return 0;
}
