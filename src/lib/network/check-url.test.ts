import { describe, expect, it } from "vitest";
import { belongsTo, checkUrl } from "./check-url.ts";

describe("checkUrl", () => {
  it.each([
    "https://example.com/docs?x=1",
    "http://EXAMPLE.com:8080/",
    "https://8.8.8.8/",
    "https://[2606:4700::1111]/",
    "https://münchen.de/",
  ])("accepts %s", (text) => expect(checkUrl(text)).toMatchObject({ ok: true }));

  it.each([
    ["ftp://example.com/", "Only complete"],
    ["file:///etc/passwd", "Only complete"],
    ["//example.com/", "Only complete"],
    ["http:///example.com/", "Only complete"],
    ["http:example.com", "Only complete"],
    ["http://user@example.com/", "user name"],
    ["http://:pw@example.com/", "user name"],
    ["http://example.com\\@evil.test/", "backslashes"],
    ["http://exam\tple.com/", "control"],
    ["http://exa mple.com/", "spaces"],
    ["http://localhost/", "local network"],
    ["http://db.internal/", "local network"],
    ["http://printer.local./", "local network"],
    ["http://intranet/", "local network"],
    ["http://nas.home.arpa/", "local network"],
    [`http://example.com/${"a".repeat(2_048)}`, "longer"],
    ["http://[::1/", "not a valid URL"],
  ])("rejects %s", (text, reason) => {
    expect(checkUrl(text)).toMatchObject({ ok: false, reason: expect.stringContaining(reason) });
  });

  it("drops the fragment, which servers must not see", () => {
    const checked = checkUrl("https://example.com/a#secret");
    expect(checked.ok && checked.url.href).toBe("https://example.com/a");
  });
});

describe("belongsTo", () => {
  it("compares label by label", () => {
    expect(belongsTo("docs.example.com", "example.com")).toBe(true);
    expect(belongsTo("example.com.", "EXAMPLE.com")).toBe(true);
    expect(belongsTo("a.example.com", "*.example.com")).toBe(true);
    expect(belongsTo("badexample.com", "example.com")).toBe(false);
    expect(belongsTo("example.com.evil.test", "example.com")).toBe(false);
    expect(belongsTo("example.com", "")).toBe(false);
  });
});
