"""The lab's map: which machine has which address, and what the name server says.

Public addresses are real ones that are routed nowhere in the lab but to its own far machine; the
names end in .test, which nobody else has (RFC 6761)."""

NEAR4, NEAR6 = "10.77.0.1", "fd77::1"  # this machine on the lab's network
NEAR_PUBLIC4, NEAR_PUBLIC6 = "93.184.216.34", "2606:2800:220:1::34"  # and its public addresses
FAR4, FAR6 = "10.77.0.5", "fd77::5"  # the machine of the local network
NAME_SERVER = "93.184.215.53"
NET6 = "2606:2800:21f:cb07::"

OK, OTHER, GIT, DB, REGISTRY, EVIL = (f"93.184.215.{n}" for n in (14, 15, 20, 21, 22, 66))
OK6, OTHER6, EVIL6 = NET6 + "14", NET6 + "15", NET6 + "66"
PROXY = "10.77.0.8"  # a company's proxy, on the local network
METADATA = ["169.254.169.254", "100.100.100.200", "fd00:ec2::254"]
SHARED, LINK_LOCAL = "100.64.7.5", "169.254.7.5"
LAN_RANGE = "192.168.77.5"
BLACK_HOLE4, BLACK_HOLE6 = "93.184.217.1", "2606:2800:21f:dead::1"  # swallow every packet

# Servers that misbehave, each at an address of its own: port 80 and 443 (web.py).
ODD = {name: f"93.184.215.{n}" for n, name in enumerate(
    ("early", "closing", "resetting", "stalling", "garbling", "deaf", "halving", "dribbling"), 40)}

# What the far machine answers to. Of these, the last three kinds are no public addresses.
FAR_ADDRESSES = [OK, OTHER, GIT, DB, REGISTRY, EVIL, NAME_SERVER, *ODD.values(), OK6, OTHER6,
                 EVIL6, NET6 + "22", FAR4, FAR6, PROXY, LAN_RANGE, SHARED, LINK_LOCAL, *METADATA]
NEAR_ADDRESSES = [NEAR4, NEAR6, NEAR_PUBLIC4, NEAR_PUBLIC6]

# name: addresses. A list of lists is one answer after the other, the last for ever.
ZONE = {
    "ok.test": [OK, OK6],
    "four.test": [OK],
    "six.test": [OK6],
    "api.ok.test": [OK], "x.api.ok.test": [OK], "y.x.api.ok.test": [OK],
    "other.test": [OTHER, OTHER6],
    "git.test": [GIT],
    "db.test": [DB],
    "pkg.test": [REGISTRY, NET6 + "22"],
    # What a careless match lets through.
    "evil.test": [EVIL, EVIL6], "evilok.test": [EVIL], "ok.test.evil.test": [EVIL],
    "test": [EVIL], "okxtest": [EVIL], "evilapi.ok.test": [EVIL],
    # Public names with other addresses.
    "private.test": [FAR4], "ula.test": [FAR6], "shared.test": [SHARED],
    "linklocal.test": [LINK_LOCAL], "range.test": [LAN_RANGE],
    "loop.test": ["127.0.0.1"], "loop6.test": ["::1"], "zero.test": ["0.0.0.0"],
    "own.test": [NEAR4], "ownpublic.test": [NEAR_PUBLIC4], "ownpublic6.test": [NEAR_PUBLIC6],
    "meta.test": [METADATA[0]], "meta2.test": [METADATA[1]], "meta6.test": [METADATA[2]],
    "multicast.test": ["224.0.0.251"], "broadcast.test": ["255.255.255.255"],
    "mapped.test": ["::ffff:" + FAR4], "nat64.test": ["64:ff9b::" + FAR4],
    "sixtofour.test": ["2002:a4d:5::1"], "compatible.test": ["::" + FAR4],
    "fake.test": ["198.18.0.2"], "documentation.test": ["192.0.2.7"],
    "mixed.test": [OK, FAR4, "127.0.0.1"],
    "flip.test": [[OK], ["127.0.0.1"]], "flipback.test": [["127.0.0.1"], [OK]],
    "many.test": [OK] * 3 + [f"93.184.218.{n}" for n in range(40)],
    "slow6.test": [OK, BLACK_HOLE6],  # happy eyeballs: the second family hangs
    "slow4.test": [BLACK_HOLE4, OK6],
    "hole.test": [BLACK_HOLE4],
    "nas.test": [FAR4, FAR6],
    **{f"{name}.test": [address] for name, address in ODD.items()},
}
ALIASES = {"alias.test": "evil.test", "goodalias.test": "ok.test"}
LATE = {"late.test": 1.0}  # seconds before the answer
ZONE["late.test"] = [OK]
FAILING = {"servfail.test": 2, "refused.test": 5}  # RCODE
HOSTS = f"""\
127.0.0.1 localhost
::1 localhost ip6-localhost
{OK} hosted.test
{FAR4} hostedlan.test
"""

# All that a certificate of the lab is good for.
CERTIFIED = sorted({*ZONE, *ALIASES, "hosted.test"} - {"test", "okxtest"})

LOCAL_WEB, LOCAL_WEB6, LOCAL_CLOSED, LOCAL_MODEL = 8101, 8102, 8103, 11434
RAW = 7000  # far: says what it gets, and closes when asked to
SINK = 7001  # far: reads everything, says nothing
FLOOD = 7002  # far: writes without end, reads nothing
