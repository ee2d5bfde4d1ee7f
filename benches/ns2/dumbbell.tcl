# A hundred New Reno flows and one CBR flow on the dumbbell of afc (5 Mbit/s, 1000 bytes) in ns-2; Debian's package ns2.
#
#     ns benches/ns2/dumbbell.tcl SEED QUEUE LIMIT CBR_KBPS
#     ns benches/ns2/dumbbell.tcl 1 DropTail 300 49.5
#     ns benches/ns2/dumbbell.tcl 1 RED 300 5000
#
# Prints the mean goodput of a TCP flow in kbit/s with headers, Jain's index of the goodputs, and the number of
# timeouts. All are measured from 50 s to 200 s.
lassign $argv seed type limit cbr
set flows 100
set from 50
set until 200
ns-random $seed
Agent/TCP set packetSize_ 960
Agent/TCP set window_ 10000
set ns [new Simulator]
set left [$ns node]
set right [$ns node]
$ns simplex-link $left $right 5Mb 10ms $type
$ns simplex-link $right $left 100Mb 10ms DropTail
$ns queue-limit $left $right $limit
if {$type eq "RED"} {
    set queue [[$ns link $left $right] queue]
    foreach {key value} {
        thresh_ 50 maxthresh_ 150 linterm_ 10 gentle_ true bytes_ false queue_in_bytes_ false adaptive_ 0
        q_weight_ 0.002 mean_pktsize_ 1000
    } { $queue set $key $value }
}
for {set i 0} {$i < 5} {incr i} {
    set source($i) [$ns node]
    set sink($i) [$ns node]
    $ns duplex-link $source($i) $left 100Mb 1ms DropTail
    $ns duplex-link $right $sink($i) 100Mb 1ms DropTail
}
set random [new RNG]
$random seed $seed
proc attach {i sender receiver application} {
    global ns source sink random
    $ns attach-agent $source([expr $i % 5]) $sender
    $ns attach-agent $sink([expr $i % 5]) $receiver
    $ns connect $sender $receiver
    $application attach-agent $sender
    $ns at [$random uniform 0 10] "$application start"
}
for {set i 0} {$i < $flows} {incr i} {
    set tcp($i) [new Agent/TCP/Newreno]
    attach $i $tcp($i) [new Agent/TCPSink] [new Application/FTP]
}
set udp [new Agent/UDP]
$udp set packetSize_ 1000
set constant [new Application/Traffic/CBR]
$constant set packetSize_ 1000
$constant set rate_ ${cbr}kb
attach 0 $udp [new Agent/Null] $constant

proc count {} {
    global flows tcp acked timeouts
    set timeouts 0
    for {set i 0} {$i < $flows} {incr i} {
        set acked($i) [$tcp($i) set ack_]
        incr timeouts [$tcp($i) set nrexmit_]
    }
}
proc report {} {
    global flows tcp acked timeouts from until
    set sum 0
    set squares 0
    set after 0
    for {set i 0} {$i < $flows} {incr i} {
        set kbps [expr ([$tcp($i) set ack_] - $acked($i)) * 8.0 / ($until - $from)]
        set sum [expr $sum + $kbps]
        set squares [expr $squares + $kbps * $kbps]
        incr after [$tcp($i) set nrexmit_]
    }
    puts [format "goodput %.2f kbit/s, index %.4f, timeouts %d" \
        [expr $sum / $flows] [expr $sum * $sum / ($flows * $squares)] [expr $after - $timeouts]]
    exit 0
}
$ns at $from count
$ns at $until report
$ns run
