"""Access equipment before a bridge: puts packets of a tun device into PPPoE sessions or S+C tags, and back.

`access.py INTERFACE TABLE`: TABLE is JSON, from IPv4 address to the head of its frames in hex. A packet from the device
goes into a frame with the head of its source address, or of its destination address if the source has none.
"""

import fcntl
import json
import os
import select
import socket
import struct
import sys

TUNSETIFF = 0x400454CA
TUN_WITHOUT_INFO = 0x1001
SOL_PACKET, PACKET_IGNORE_OUTGOING, SO_SNDBUFFORCE, SO_RCVBUFFORCE = 263, 23, 32, 33
ETH_P_ALL, PACKET_OTHERHOST = 3, 3
PPPOE, SERVICE_TAG, CUSTOMER_TAG = b"\x88\x64", b"\x88\xa8", b"\x81\x00"
# Offset of the IP header; the kernel keeps the outermost tag separate from the frame.
IP_AT = {PPPOE: 22, SERVICE_TAG: 22, CUSTOMER_TAG: 18}
# Packets read from one side before the other side is served.
BATCH = 64


def frame_of(heads: dict[bytes, bytes], packet: bytes) -> bytes | None:
    """Frame for a packet."""
    head = heads.get(packet[12:16]) or heads.get(packet[16:20])
    if head is None:
        return None
    if head[12:14] == PPPOE:
        return head + struct.pack("!HH", len(packet) + 2, 0x21) + packet
    return head + packet


def main() -> None:
    """Runs until stopped."""
    interface, table = sys.argv[1:]
    with open(table) as file:
        heads = {socket.inet_aton(address): bytes.fromhex(head) for address, head in json.load(file).items()}
    tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH", b"tun0", TUN_WITHOUT_INFO))
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    link.bind((interface, ETH_P_ALL))
    link.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    for size in (SO_SNDBUFFORCE, SO_RCVBUFFORCE):
        link.setsockopt(socket.SOL_SOCKET, size, 1 << 23)
    link.setblocking(False)
    # Other work on the machine must not delay a line.
    os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    print("ready", flush=True)
    poll = select.poll()
    poll.register(tun, select.POLLIN)
    poll.register(link, select.POLLIN)
    while True:
        poll.poll()
        try:
            for _ in range(BATCH):
                frame = frame_of(heads, os.read(tun, 2048))
                if frame:
                    link.send(frame)
        except BlockingIOError:
            pass
        try:
            for _ in range(BATCH):
                frame, address = link.recvfrom(2048)
                at = IP_AT.get(frame[12:14])
                if at and address[2] != PACKET_OTHERHOST:
                    # There may be padding behind the packet.
                    os.write(tun, frame[at : at + int.from_bytes(frame[at + 2 : at + 4])])
        except OSError:
            # Nothing to read, or no IP: when nodes are detached, labels that nobody strips.
            pass


main()
