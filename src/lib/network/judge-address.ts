/**
 * Explains why the web tools must not connect to an IP address; undefined for an address on the public internet.
 * Anything other than a plain address, such as a zone id, a shorthand or a name, is also refused.
 */
export function judgeAddress(address: string): string | undefined {
  const four = parseIPv4(address);
  if (four !== undefined) return judgeIPv4(four);
  const six = parseIPv6(address);
  if (six !== undefined) return judgeIPv6(six);
  return "not an IP address";
}

export function isLoopback(address: string): boolean {
  return judgeAddress(address) === loopback;
}

const loopback = "a loopback address";
const documentation = "an address reserved for documentation";
const privateNetwork = "a private network address";
const reserved = "a reserved address";

/** Rows of network, prefix length and description. The first matching row decides. */
const ranges4: readonly (readonly [string, number, string])[] = [
  ["0.0.0.0", 8, "an unspecified address"],
  ["10.0.0.0", 8, privateNetwork],
  ["100.64.0.0", 10, "a carrier-grade NAT address"],
  ["127.0.0.0", 8, loopback],
  ["168.63.129.16", 32, "a cloud metadata address"],
  ["169.254.0.0", 16, "a link-local address (cloud metadata)"],
  ["172.16.0.0", 12, privateNetwork],
  ["192.0.0.0", 24, reserved],
  ["192.0.2.0", 24, documentation],
  ["192.88.99.0", 24, reserved],
  ["192.168.0.0", 16, privateNetwork],
  ["198.18.0.0", 15, "an address reserved for benchmarks"],
  ["198.51.100.0", 24, documentation],
  ["203.0.113.0", 24, documentation],
  ["224.0.0.0", 4, "a multicast address"],
  ["240.0.0.0", 4, reserved],
];

const ranges6: readonly (readonly [string, number, string])[] = [
  ["::", 128, "an unspecified address"],
  ["::1", 128, loopback],
  ["::ffff:0:0", 96, "an IPv4 address in IPv6 form"],
  ["::", 96, "an IPv4 address in IPv6 form"],
  ["fc00::", 7, privateNetwork],
  ["fe80::", 10, "a link-local address"],
  ["fec0::", 10, privateNetwork],
  ["ff00::", 8, "a multicast address"],
  ["2001:db8::", 32, documentation],
  ["3fff::", 20, documentation],
  ["2001::", 32, "a tunnel address (Teredo)"],
  ["2001::", 23, reserved],
  ["2002::", 16, "a tunnel address (6to4)"],
];

const networks4 = ranges4.map(([network, length, reason]) =>
  networkOf(parseIPv4(network), { bits: 32 - length, reason }),
);
const networks6 = ranges6.map(([network, length, reason]) =>
  networkOf(parseIPv6(network), { bits: 128 - length, reason }),
);
const nat64 = (parseIPv6("64:ff9b::") ?? 0n) >> 32n;

function networkOf(address: bigint | undefined, { bits, reason }: { bits: number; reason: string }) {
  const shift = BigInt(bits);
  return { network: (address ?? 0n) >> shift, shift, reason };
}

function judgeIPv4(value: bigint): string | undefined {
  return networks4.find(({ network, shift }) => value >> shift === network)?.reason;
}

function judgeIPv6(value: bigint): string | undefined {
  // IPv6-only networks reach public hosts through NAT64, so the embedded IPv4 address decides.
  if (value >> 32n === nat64) return judgeIPv4(value & 0xffff_ffffn);
  const known = networks6.find(({ network, shift }) => value >> shift === network);
  if (known) return known.reason;
  // Only 2000::/3 is allocated for public addresses.
  return value >> 125n === 1n ? undefined : reserved;
}

export function parseIPv4(text: string): bigint | undefined {
  const parts = text.split(".");
  if (parts.length !== 4) return undefined;
  let value = 0n;
  for (const part of parts) {
    if (!/^(0|[1-9]\d{0,2})$/.test(part) || Number(part) > 255) return undefined;
    value = (value << 8n) | BigInt(part);
  }
  return value;
}

export function parseIPv6(text: string): bigint | undefined {
  const halves = text.split("::");
  if (halves.length > 2) return undefined;
  const head = groupsOf(halves[0] ?? "", halves.length === 1);
  const tail = halves.length === 2 ? groupsOf(halves[1] ?? "", true) : [];
  if (head === undefined || tail === undefined) return undefined;
  const missing = 8 - head.length - tail.length;
  if (halves.length === 2 ? missing < 1 : missing !== 0) return undefined;
  return [...head, ...new Array<bigint>(missing).fill(0n), ...tail].reduce(
    (value, group) => (value << 16n) | group,
    0n,
  );
}

function groupsOf(text: string, last: boolean): bigint[] | undefined {
  if (text === "") return [];
  const groups: bigint[] = [];
  const parts = text.split(":");
  for (const [index, part] of parts.entries()) {
    const four = last && index === parts.length - 1 && part.includes(".") ? parseIPv4(part) : undefined;
    if (four !== undefined) groups.push(four >> 16n, four & 0xffffn);
    else if (/^[0-9a-f]{1,4}$/i.test(part)) groups.push(BigInt(`0x${part}`));
    else return undefined;
  }
  return groups;
}
