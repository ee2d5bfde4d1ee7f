//! Schemes that give a user less than the max-min share in some situations of [`super::cases`], with the reason why
//! that is correct.

use fairlane_schemes::registry::schemes::Scheme;

/// Schemes that by definition do not share max-min fairly.
pub struct Unfair {
    pub schemes: &'static [Scheme],
    /// Names of the situations.
    pub cases: &'static [&'static str],
    pub reason: &'static str,
}

/// All exceptions.
pub const UNFAIR: &[Unfair] = &[
    Unfair {
        schemes: &[
            Scheme::DropTail,
            Scheme::Red,
            Scheme::Ared,
            Scheme::Blue,
            Scheme::Pie,
            Scheme::DualPi2,
            Scheme::DocsisQp,
            Scheme::Codel,
            Scheme::Cobalt,
        ],
        cases: &["poisson", "flood"],
        reason: "it does not tell users apart: all lose the same part, and TCP gives way",
    },
    Unfair {
        schemes: &[Scheme::Abc],
        cases: &["poisson", "flood"],
        reason: "the normal meter counts what is sent, not what gets through: the user with the highest rate is held \
                 back first, below its share if it does not slow down",
    },
    Unfair {
        schemes: &[Scheme::CpAqm],
        cases: &["poisson", "lengths", "flood"],
        reason: "it polices the user that causes most congestion, and does not stop at its share",
    },
    Unfair {
        schemes: &[Scheme::Hcsfq],
        cases: &["lengths"],
        reason: "packets below 125 bytes bypass it: those of 100 bytes take what they ask for",
    },
    Unfair {
        schemes: &[Scheme::Rfq],
        cases: &["poisson", "lengths", "flood"],
        reason: "its queue threshold of 12 packets is reached by chance, above all by short ones; each time it gives \
                 up a layer, a sixth of the link, which comes back after 100 ms at the earliest",
    },
    Unfair {
        schemes: &[Scheme::PvPie],
        cases: &["flood"],
        reason: "its probability follows the delay slowly and cuts off the highest values; TCP, whose window is a few \
                 packets, loses whole windows meanwhile",
    },
    Unfair {
        schemes: &[Scheme::Fred, Scheme::Choke, Scheme::Sfb, Scheme::Care, Scheme::Black, Scheme::CodelAf],
        cases: &["lengths"],
        reason: "it counts packets, not bytes",
    },
    Unfair {
        schemes: &[Scheme::Csfq, Scheme::Fred, Scheme::Ppv, Scheme::Care, Scheme::Black],
        cases: &["flood"],
        reason: "a TCP flow whose rate swings about its share is dropped at each peak, and falls below it",
    },
    Unfair {
        schemes: &[Scheme::RedPd],
        cases: &["lengths", "flood"],
        reason: "it holds flows back by RED's drops of the last seconds, in steps, not to a share",
    },
    Unfair {
        schemes: &[Scheme::Choke],
        cases: &["poisson", "flood"],
        reason: "it drops pairs of packets of one flow: a flow with more of the queue loses more, but not down to a \
                 share",
    },
    Unfair {
        schemes: &[Scheme::Black],
        cases: &["poisson"],
        reason: "RED drops packets of flows that are not above their share as well",
    },
    Unfair {
        schemes: &[Scheme::Sfb],
        cases: &["poisson", "flood"],
        reason: "with 24 packets a bin is full from two packets on, so that bursts raise the probability of every flow",
    },
    Unfair {
        schemes: &[Scheme::Care],
        cases: &["poisson"],
        reason: "it draws the packets that it compares from 24, too few to tell the rates of flows",
    },
    Unfair {
        schemes: &[Scheme::Fdpa],
        cases: &["poisson", "flood"],
        reason: "users above their share are served by rate, the slowest first: one that does not slow down gets what \
                 is left",
    },
    Unfair {
        schemes: &[Scheme::Cebinae],
        cases: &["poisson", "lengths", "flood"],
        reason: "it lowers rates for senders that slow down; a group that does not is shut out for whole rounds, and \
                 the limits end when the link is not full for that",
    },
    Unfair {
        schemes: &[Scheme::Cobalt],
        cases: &["lengths"],
        reason: "an overflow raises BLUE's probability by sixteen times what an idle link takes off: under an \
                 overload that does not react it stays too high, and the link is idle for a part of the time",
    },
    Unfair {
        schemes: &[Scheme::Htb],
        cases: &["lengths"],
        reason: "an overflow raises BLUE's probability in the CAKE of each user, the more often the shorter its \
                 packets; with FQ-CoDel or drop-tail as leaf nobody is short",
    },
    Unfair {
        schemes: &[Scheme::FqPie],
        cases: &["flood"],
        reason: "a full buffer drops what comes, whoever has filled it: here 24 packets, 10 240 in Linux",
    },
    Unfair {
        schemes: &[Scheme::SpPifo, Scheme::Aifo, Scheme::Packs],
        cases: &["flood"],
        reason: "unlike a sorted queue it cannot push out: of 24 packets those of the heavy user leave little room \
                 for TCP, which gives way; with 200 packets TCP has at least three quarters of its share",
    },
    Unfair {
        schemes: &[Scheme::Aifo, Scheme::Packs],
        cases: &["lengths"],
        reason: "the part of the queue that is used counts packets if the limit does; with a limit in bytes nobody is \
                 short",
    },
    Unfair {
        schemes: &[Scheme::Rifo],
        cases: &["poisson", "flood"],
        reason: "start tags grow, so that the range of the last 150 is wide and most tags look low; with 15, Poisson \
                 users share fairly",
    },
    Unfair {
        schemes: &[Scheme::CodelAf],
        cases: &["flood"],
        reason: "it signals to flows, and one that does not react is held back by overflows alone, not down to its \
                 share",
    },
    Unfair {
        schemes: &[Scheme::Ahab],
        cases: &["poisson", "lengths", "flood"],
        reason: "its memories, 4 and 16 ms for links of 100 Mbit/s and more, hold 3 and 13 packets of this one: rates \
                 of users are read too high, those of the link by chance",
    },
];
