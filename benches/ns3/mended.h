// SPDX-License-Identifier: MIT OR Apache-2.0
// Congestion controls of ns-3 3.37 without faults that are visible in the source. Each control calls the class of ns-3.
// Through the public and protected interface of the class, it corrects what departs from the document that the class
// cites.
#ifndef FAIRLANE_NS3_MENDED_H
#define FAIRLANE_NS3_MENDED_H

#include "ns3/socket-factory.h"
#include "ns3/tcp-bbr.h"
#include "ns3/tcp-dctcp.h"
#include "ns3/tcp-ledbat.h"
#include "ns3/tcp-prr-recovery.h"
#include "ns3/tcp-socket-base.h"
#include "ns3/tcp-tx-buffer.h"
#include "ns3/tcp-vegas.h"

#include <set>

namespace fairlane
{

/// BBR, after draft-cardwell-iccrg-bbr-congestion-control-00.
/// 1. When recovery ends, TcpSocketBase::ProcessAck sets cwnd = ssthresh for every control. TcpBbr leaves ssthresh at
///    its initial value, 4 GiB, until Startup ends, and then at one bandwidth-delay product. Here ssthresh is the
///    window before recovery, which section 4.2.3.4 restores.
/// 2. TcpRateLinux::SkbDelivered takes the ACK phase of a rate sample from the previously delivered segment. The
///    interval is then too long by the time between two ACKs (fixed in ns-3 by 3.44). Here the ACK phase is that of the
///    sample's segment.
/// 3. TcpBbr::SetSendQuantum uses one segment at any rate. Here the quantum is that of section 4.2.2; windows are the
///    bandwidth-delay product plus three quanta. Bursts are still one segment.
/// 4. TcpSocketBase::ReceivedAck reports any change of the count of lost segments, up or down, as newly lost segments.
///    Thus each repaired loss counts as a further loss and reduces the window. Here only an increase counts.
/// 5. Recovery conserves packets for one round (section 4.2.3.4). Here this round starts with recovery; in TcpBbr it is
///    the rest of the current round.
/// 6. TcpBbr does not restore the window when the loss state ends (section 4.2.3.4, "upon exiting loss recovery"). Here
///    it is restored.
/// 7. TcpRateLinux::GenerateSample leaves the last rate in a sample that it considers invalid. Here such a sample has
///    no rate.
class MendedBbr : public ns3::TcpBbr
{
  public:
    static ns3::TypeId GetTypeId();
    ns3::Ptr<ns3::TcpCongestionOps> Fork() override;
    void CongestionStateSet(ns3::Ptr<ns3::TcpSocketState> tcb,
                            const ns3::TcpSocketState::TcpCongState_t newState) override;
    uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> tcb, uint32_t bytesInFlight) override;
    void CongControl(ns3::Ptr<ns3::TcpSocketState> tcb, const ns3::TcpRateOps::TcpRateConnection& rc,
                     const ns3::TcpRateOps::TcpRateSample& rs) override;
    /// Sets the buffer in which the socket counts lost segments.
    void Watch(ns3::Ptr<ns3::TcpTxBuffer> buffer) { m_buffer = buffer; }

  private:
    void Mend(ns3::TcpRateOps::TcpRateSample& sample);
    void SetQuantum(const ns3::TcpSocketState& of);

    ns3::Ptr<ns3::TcpTxBuffer> m_buffer;
    uint32_t m_lost{0};
    bool m_recoveryBegins{false};
    uint64_t m_recoveryRound{0}; ///< that round ends with a packet sent after this many delivered bytes
    uint32_t m_windowBefore{0};
    ns3::Ptr<ns3::TcpSocketState> m_quantum; ///< a state with the quantum as its segment size, for SetSendQuantum
};

/// DCTCP, after RFC 8257.
/// 1. When a packet's mark differs from the previous packet's and an ACK is delayed, the receiver must first
///    acknowledge the previous packets (section 3.2). TcpDctcp::CeState1to0 acknowledges up to the start of the
///    previous packet instead. These bytes are already acknowledged, so the sender ignores the echo: a single mark is
///    lost if its ACK was delayed.
/// 2. A loss halves the window (section 3.5); TcpDctcp::GetSsThresh reduces it as for a mark.
/// 3. An observation window ends with an ACK above DCTCP.WindowEnd, which is SND.NXT when the window begins (section
///    3.3). In TcpDctcp::PktsAcked it ends with an ACK of WindowEnd itself. The first window ends with the first ACK,
///    as WindowEnd is initially SND.UNA; in TcpDctcp it lasts a window longer. FirstAlpha is the value of alpha after
///    this first window.
/// 4. TcpLinuxReno, the base of TcpDctcp, follows Linux, except that a reduction keeps the acknowledgements counted
///    towards the next segment of growth. Linux resets them (tcp_input.c tcp_init_cwnd_reduction). The difference is
///    half a segment after each mark.
class MendedDctcp : public ns3::TcpDctcp
{
  public:
    static ns3::TypeId GetTypeId();
    ns3::Ptr<ns3::TcpCongestionOps> Fork() override;
    /// The initial alpha, 1, after a first window without marks, with the default gain.
    static constexpr double FirstAlpha = 1.0 - 0.0625;

    uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> tcb, uint32_t bytesInFlight) override;
    void PktsAcked(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t segmentsAcked, const ns3::Time& rtt) override;
    void CwndEvent(ns3::Ptr<ns3::TcpSocketState> tcb, const ns3::TcpSocketState::TcpCAEvent_t event) override;

  private:
    void Arrived(ns3::Ptr<ns3::TcpSocketState> tcb, bool marked);

    bool m_marked{false};
    bool m_ackIsDelayed{false};
};

/// New Reno with ECN, after RFC 3168. Section 6.1.3: after CWR has arrived, ACKs of unmarked packets carry no echo.
/// TcpSocketBase::DoForwardUp stops the echo unless the state is that of a mark just received. The state can also come
/// from the mark of an earlier packet whose ACK is delayed, not only from a mark on the packet with CWR. Then the echo
/// continues, and the sender, which has already reduced its window, reduces it again. Here an unmarked packet sets the
/// state ECN_SENDING_ECE, in which CWR stops the echo.
class MendedNewReno : public ns3::TcpNewReno
{
  public:
    static ns3::TypeId GetTypeId();
    ns3::Ptr<ns3::TcpCongestionOps> Fork() override;
    void CwndEvent(ns3::Ptr<ns3::TcpSocketState> tcb, const ns3::TcpSocketState::TcpCAEvent_t event) override;
};

/// Vegas, after Brakmo and Peterson (1995), and Linux. TcpVegas::GetSsThresh returns cwnd minus a segment, both for its
/// own reductions and for losses, so that Vegas never halves its window after a loss. Here losses are handled as in New
/// Reno.
class MendedVegas : public ns3::TcpVegas
{
  public:
    static ns3::TypeId GetTypeId();
    ns3::Ptr<ns3::TcpCongestionOps> Fork() override;
    uint32_t GetSsThresh(ns3::Ptr<const ns3::TcpSocketState> tcb, uint32_t bytesInFlight) override;
};

/// LEDBAT, after RFC 6817.
/// 1. TcpLedbat::CongestionAvoidance limits cwnd to the outstanding bytes, without ALLOWED_INCREASE (section 2.4.2), so
///    after slow start the window can only shrink. Here ALLOWED_INCREASE is one segment, the default of section 2.5.
/// 2. TcpLedbat rounds the window down to whole bytes after each ACK, while the increment of section 2.4.2, a multiple
///    of MSS^2 / cwnd, can be far below one byte: with 834 segments the window stops growing at 71 % of TARGET. Here
///    the window has a resolution of 1/16 byte.
class MendedLedbat : public ns3::TcpLedbat
{
  public:
    static ns3::TypeId GetTypeId();
    ns3::Ptr<ns3::TcpCongestionOps> Fork() override;

  protected:
    void CongestionAvoidance(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t segmentsAcked) override;

  private:
    ns3::Ptr<ns3::TcpSocketState> m_fine; ///< window and segment in fractions of a byte
    uint32_t m_part{0};                   ///< fraction of a byte in the window
};

/// Proportional rate reduction, after RFC 9937, which replaces the RFC 6937 that TcpPrrRecovery follows.
/// 1. TcpPrrRecovery::DoRecovery multiplies prr_delivered by ssthresh in 32 bits. The product overflows at 4 GiB, at
///    windows of 64 KiB and more; then nothing is sent until the bytes in flight have fallen to ssthresh. Here the
///    product is exact.
/// 2. TcpSocketBase calls DoRecovery twice for some ACKs: for the ACK that enters CWR, and for a partial ACK with new
///    SACK blocks. DeliveredData is what one ACK delivers; here it counts once.
/// 3. RecoverFS lacks the bytes acknowledged by the ACK that enters CWR, though prr_delivered includes them (RFC 9937
///    6.1 adds them): with windows below 40 segments there is no reduction before the end of the round trip. Here
///    RecoverFS includes them.
/// 4. Up to ssthresh, TcpPrrRecovery sends what an ACK delivers, where RFC 6937 has max(prr_delivered - prr_out,
///    DeliveredData) + MSS. Here MSS is added as in RFC 9937, if the ACK is a SafeACK: if it acknowledges a
///    retransmission, which is how ns-3 detects progress, or if nothing is lost.
class MendedPrrRecovery : public ns3::TcpPrrRecovery
{
  public:
    static ns3::TypeId GetTypeId();
    ns3::Ptr<ns3::TcpRecoveryOps> Fork() override;
    void EnterRecovery(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t dupAckCount, uint32_t unAckDataCount,
                       uint32_t deliveredBytes) override;
    void DoRecovery(ns3::Ptr<ns3::TcpSocketState> tcb, uint32_t deliveredBytes) override;
    void UpdateBytesSent(uint32_t bytesSent) override { m_out += bytesSent; }

  private:
    int64_t m_delivered{0};
    int64_t m_out{0};
    int64_t m_flight{1};
    ns3::Time m_last{-1}; ///< time of the last ACK
};

/// A sender that counts the bytes in flight as in RFC 6675. SetPipe (section 4) counts no SACKed segment.
/// TcpTxBuffer::BytesInFlight adds all retransmitted segments, and Update keeps a SACKed retransmission among them
/// until it is cumulatively acknowledged. Thus, while the retransmission of one segment is lost, retransmissions of
/// later segments that have arrived still fill the window, and nothing is sent until the timeout.
class MendedSocket : public ns3::TcpSocketBase
{
  public:
    static ns3::TypeId GetTypeId();

  protected:
    uint32_t SendDataPacket(ns3::SequenceNumber32 seq, uint32_t maxSize, bool withAck) override;
    void ReceivedAck(ns3::Ptr<ns3::Packet> packet, const ns3::TcpHeader& header) override;
    void ReTxTimeout() override;
    uint32_t BytesInFlight() const override;

  private:
    /// Numbers of segments that were retransmitted since the last timeout and are not SACKed, or are SACKed.
    mutable std::set<ns3::SequenceNumber32> m_copies;
    mutable std::set<ns3::SequenceNumber32> m_arrived;
    mutable bool m_timeout{false}; ///< the buffer is about to discard its retransmissions
};

/// Creates such senders, with the control and the recovery of their node.
class MendedSocketFactory : public ns3::SocketFactory
{
  public:
    static ns3::TypeId GetTypeId();
    ns3::Ptr<ns3::Socket> CreateSocket() override;
};

} // namespace fairlane

#endif
