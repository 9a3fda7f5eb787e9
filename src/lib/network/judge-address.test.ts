import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isLoopback, judgeAddress, parseIPv4, parseIPv6 } from "./judge-address.ts";

const refused = [
  "0.0.0.0",
  "0.1.2.3",
  "10.0.0.1",
  "100.64.0.1",
  "100.127.255.255",
  "127.0.0.1",
  "127.255.255.254",
  "168.63.129.16",
  "169.254.169.254",
  "172.16.0.1",
  "172.31.255.255",
  "192.0.0.192",
  "192.0.2.1",
  "192.88.99.1",
  "192.168.0.1",
  "198.18.0.1",
  "198.19.255.255",
  "198.51.100.7",
  "203.0.113.7",
  "224.0.0.1",
  "239.255.255.255",
  "240.0.0.1",
  "255.255.255.255",
  "::",
  "::1",
  "::7f00:1",
  "::ffff:127.0.0.1",
  "::ffff:8.8.8.8",
  "::ffff:0:127.0.0.1",
  "64:ff9b::127.0.0.1",
  "64:ff9b::a9fe:a9fe",
  "64:ff9b:1::1",
  "100::1",
  "2001::1",
  "2001:10::1",
  "2001:db8::1",
  "2002:7f00:1::",
  "3fff::1",
  "4000::1",
  "5f00::1",
  "fc00::1",
  "fd00:ec2::254",
  "fe80::1",
  "febf::1",
  "fec0::1",
  "ff02::1",
  "fe80::1%eth0",
  "0x7f.0.0.1",
  "127.1",
  "0177.0.0.1",
  "localhost",
  "",
  "1.2.3.4.5",
  ":::",
  "1:2:3:4:5:6:7:8:9",
  "1::2::3",
];

const reachable = [
  "1.1.1.1",
  "8.8.8.8",
  "9.255.255.255",
  "11.0.0.0",
  "100.63.255.255",
  "100.128.0.0",
  "126.255.255.255",
  "128.0.0.0",
  "169.253.255.255",
  "169.255.0.0",
  "172.15.255.255",
  "172.32.0.0",
  "192.0.1.0",
  "192.167.255.255",
  "192.169.0.0",
  "198.17.255.255",
  "198.20.0.0",
  "223.255.255.255",
  "2001:4860:4860::8888",
  "2606:4700::1111",
  "2a00:1450:4001:82a::200e",
  "64:ff9b::8.8.8.8",
];

describe("judgeAddress", () => {
  it.each(refused)("rejects %s", (address) => expect(judgeAddress(address)).toBeTypeOf("string"));
  it.each(reachable)("accepts %s", (address) => expect(judgeAddress(address)).toBeUndefined());

  it("judges an IPv4 address inside NAT64 like the address itself", () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        expect(judgeAddress(`64:ff9b::${address}`)).toBe(judgeAddress(address));
      }),
    );
  });

  it("never accepts an IPv4 address in a mapped, compatible or tunnel form", () => {
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const value = parseIPv4(address) ?? 0n;
        const groups = `${(value >> 16n).toString(16)}:${(value & 0xffffn).toString(16)}`;
        for (const form of [`::ffff:${address}`, `::${address}`, `::ffff:${groups}`, `2002:${groups}::1`])
          expect(judgeAddress(form)).toBeTypeOf("string");
      }),
    );
  });

  it("reads every spelling of an IPv6 address like the URL parser", () => {
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        const canonical = new URL(`http://[${address}]/`).hostname.slice(1, -1);
        expect(parseIPv6(address)).toBe(parseIPv6(canonical));
        expect(parseIPv6(address)).toBeTypeOf("bigint");
      }),
    );
  });

  it("returns a result for any text, and rejects anything but an address", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const isAddress = parseIPv4(text) !== undefined || parseIPv6(text) !== undefined;
        if (!isAddress) expect(judgeAddress(text)).toBe("not an IP address");
      }),
    );
  });

  it("recognizes loopback", () => {
    expect(["127.0.0.1", "127.9.9.9", "::1"].every(isLoopback)).toBe(true);
    expect(["10.0.0.1", "8.8.8.8", "::2"].some(isLoopback)).toBe(false);
  });
});
