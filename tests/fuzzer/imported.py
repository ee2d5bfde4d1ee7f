"""Small files of other tools, for `fairlane import`; flow, node and link names are ours."""

RATES = """\
time_s,rate (Mbit/s)
100,5
100.2,8
100.3,8
100.4,0
100.5,12
"""
MAHIMAHI = "0\n2\n5\n9\n"
FLOWS = """\
# time size user
0.01,30 kB,alice
0.02,9000,bob
0.02,9000,bob
0.03,2 kB,alice
"""
HPCC = """\
3
0 9 3 100 5000 0.01
1 9 3 100 7000 0.01
0 9 3 100 5000 0.02
4 9 3 100 1 9

First line: # of flows
"""
CDF = "0 0\n1000 50\n3000 100\n"
PACKETS = "1 1 0\n2 1 0.5\n10 1 1\n"
GRAPHML = """\
<?xml version="1.0" encoding="utf-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d35"/>
  <key attr.name="Latitude" attr.type="double" for="node" id="d29"/>
  <key attr.name="Longitude" attr.type="double" for="node" id="d32"/>
  <key attr.name="label" attr.type="string" for="node" id="d33"/>
  <graph edgedefault="undirected">
    <node id="0"><data key="d29">0.0</data><data key="d32">10.0</data><data key="d33">Alpha</data></node>
    <node id="1"><data key="d29">0.0</data><data key="d32">13.0</data><data key="d33">Beta</data></node>
    <node id="2"><data key="d33">Alpha</data></node>
    <edge source="0" target="1"><data key="d35">5000000.0</data></edge>
    <edge source="0" target="1"><data key="d35">10000000.0</data></edge>
    <edge source="1" target="2"/>
  </graph>
</graphml>
"""
GML = """\
graph [
  label "Small"
  node [
    id 0
    label "Alpha"
    Latitude 0.0
    Longitude 10.0
  ]
  node [
    id 1
    label "Beta"
    Latitude 0.0
    Longitude 13.0
  ]
  node [
    id 2
    label "Alpha"
  ]
  edge [
    source 0
    target 1
    LinkSpeedRaw 5000000.0
  ]
  edge [
    source 0
    target 1
    LinkSpeedRaw 10000000.0
  ]
  edge [
    source 1
    target 2
  ]
]
"""
NATIVE = """\
?SNDlib native format; type: network; version: 1.0
# network small
META (
  granularity = 5min
  unit = MBITPERSEC
)
NODES (
  A ( 10.0 0.0 )
  B ( 13.0 0.0 )
  C ( 13.0 3.0 )
)
LINKS (
  L1 ( A B ) 20.00 0.00 0.00 156.00 ( 155.00 156.00 622.00 468.00 )
  L2 ( B C ) 0.00 0.00 0.00 156.00 ( 622.00 468.00 155.00 156.00 )
)
DEMANDS (
  D1 ( A C ) 1 2.50 UNLIMITED
  D2 ( C A ) 2 0.50 UNLIMITED
  D3 ( C B ) 1 0.00 UNLIMITED
)
ADMISSIBLE_PATHS (
)
"""
XML = """\
<?xml version="1.0" encoding="ISO-8859-1"?>
<network xmlns="http://sndlib.zib.de/network" version="1.0">
 <meta><granularity>5min</granularity><unit>MBITPERSEC</unit></meta>
 <networkStructure>
  <nodes coordinatesType="geographical">
   <node id="A"><coordinates><x>10.0</x><y>0.0</y></coordinates></node>
   <node id="B"><coordinates><x>13.0</x><y>0.0</y></coordinates></node>
   <node id="C"><coordinates><x>13.0</x><y>3.0</y></coordinates></node>
  </nodes>
  <links>
   <link id="L1"><source>A</source><target>B</target>
    <preInstalledModule><capacity>20.0</capacity><cost>0.0</cost></preInstalledModule></link>
   <link id="L2"><source>B</source><target>C</target><additionalModules>
    <addModule><capacity>622.0</capacity><cost>468.0</cost></addModule>
    <addModule><capacity>155.0</capacity><cost>156.0</cost></addModule></additionalModules></link>
  </links>
 </networkStructure>
 <demands>
  <demand id="D1"><source>A</source><target>C</target><demandValue>2.5</demandValue></demand>
  <demand id="D2"><source>C</source><target>A</target><routingUnit>2</routingUnit>
   <demandValue>0.5</demandValue></demand>
  <demand id="D3"><source>C</source><target>B</target><demandValue>0.0</demandValue></demand>
 </demands>
</network>
"""
IPERF3 = """\
{"start": {"test_start": {"protocol": "TCP", "num_streams": 2, "blksize": 131072, "omit": 1, "duration": 2}},
 "end": {
  "streams": [
   {"sender": {"seconds": 2.0, "bits_per_second": 5e6, "min_rtt": 20000, "mean_rtt": 43000, "sender": true},
    "receiver": {"seconds": 2.0, "bits_per_second": 4900000, "sender": true}},
   {"sender": {"seconds": 2.0, "bits_per_second": 5e6, "min_rtt": 21000, "mean_rtt": 45000, "sender": true},
    "receiver": {"seconds": 2.0, "bits_per_second": 4700000, "sender": true}}],
  "sender_tcp_congestion": "bbr"}}
"""
IPERF3_UDP = """\
{"start": {"test_start": {"protocol": "UDP", "num_streams": 1, "blksize": 1470, "omit": 0, "duration": 2}},
 "end": {"streams": [{"udp": {"seconds": 2.0, "bits_per_second": 12000000.0, "jitter_ms": 0.1, "lost_packets": 400,
  "packets": 2000, "sender": true}}]}}
"""
FLOW_MONITOR = """\
<?xml version="1.0" ?>
<FlowMonitor>
  <FlowStats>
    <Flow flowId="1" timeFirstTxPacket="+1e+09ns" timeFirstRxPacket="+1.01e+09ns" timeLastTxPacket="+2.98e+09ns"
      timeLastRxPacket="+3e+09ns" delaySum="+2.5e+10ns" txBytes="1500000" rxBytes="1497000" txPackets="1000"
      rxPackets="998" lostPackets="2"/>
    <Flow flowId="2" timeFirstTxPacket="+1.01e+09ns" timeFirstRxPacket="+1.02e+09ns" timeLastTxPacket="+2.99e+09ns"
      timeLastRxPacket="+3e+09ns" delaySum="+5e+09ns" txBytes="26000" rxBytes="26000" txPackets="500"
      rxPackets="500" lostPackets="0"/>
    <Flow flowId="3" timeFirstTxPacket="+1.5e+09ns" timeFirstRxPacket="+1.51e+09ns" timeLastTxPacket="+2e+09ns"
      timeLastRxPacket="+2.02e+09ns" delaySum="+1e+09ns" txBytes="101000" rxBytes="101000" txPackets="101"
      rxPackets="101" lostPackets="0"/>
  </FlowStats>
  <Ipv4FlowClassifier>
    <Flow flowId="1" sourceAddress="10.1.1.1" destinationAddress="10.1.2.1" protocol="6" sourcePort="49153"
      destinationPort="80"/>
    <Flow flowId="2" sourceAddress="10.1.2.1" destinationAddress="10.1.1.1" protocol="6" sourcePort="80"
      destinationPort="49153"/>
    <Flow flowId="3" sourceAddress="10.1.1.2" destinationAddress="10.1.2.1" protocol="17" sourcePort="49153"
      destinationPort="9"/>
  </Ipv4FlowClassifier>
</FlowMonitor>
"""
FILES = {
    "import rate-trace": (RATES, MAHIMAHI),
    "import flows": (FLOWS, HPCC),
    "import cdf": (CDF, PACKETS),
    "import topology": (GRAPHML, GML, NATIVE, XML),
    "import iperf3": (IPERF3, IPERF3_UDP),
    "import flow-monitor": (FLOW_MONITOR,),
}
"""Files that each command takes; those of Flent are compressed."""
