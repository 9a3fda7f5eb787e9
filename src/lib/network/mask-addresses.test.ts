import fc from "fast-check";
import { expect, it } from "vitest";
import { maskAddress, maskAddresses } from "./mask-addresses.ts";

it.each([
  ["https://me:secret@example.com/path", "https://…@example.com/path"],
  ["ssh://token@example.com:22/x.git", "ssh://…@example.com:22/x.git"],
  ["http://me:sec/ret@example.com/", "http://…@example.com/"],
  ["http://me:sec?r#et@example.com/", "http://…@example.com/"],
  ["https://example.com/@scope/package", "https://example.com/@scope/package"],
  ["https://example.com/mcp?key=secret&page=2", "https://example.com/mcp?key=…&page=…"],
  ["https://example.com/mcp?secret", "https://example.com/mcp?…"],
  ["http://127.0.0.1:7333/?ticket=secret#secret", "http://127.0.0.1:7333/?ticket=…#…"],
  ["http://127.0.0.1:7333/", "http://127.0.0.1:7333/"],
  ["me:secret@proxy.test:8080", "…@proxy.test:8080"],
  ["", ""],
])("shows %s as %s", (address, shown) => {
  expect(maskAddress(address)).toBe(shown);
  expect(maskAddresses(address)).toBe(shown);
  expect(
    maskAddresses(
      `The server "${address}" ${address.includes("://") ? `(or ${address}, or <${address}>)` : ""} failed.`,
    ),
  ).not.toContain("secret");
});

it.each(["http://me:sec ret@example.com", 'http://me:sec"ret@example.com', "me:sec ret@example.com"])(
  "shows no part of the password in %s, which is known to be an address",
  (address) => expect(maskAddress(address)).toMatch(/^(http:\/\/)?…@example\.com$/),
);

it.each([
  "reviewer.md:4 lists \"Grpe\". Did you mean 'Grep'?",
  "Install react@18, or ask ann@example.com (see docs/a.md#top, C# or R&D).",
  'Use "npm:@scope" or a?.b ?? c && d',
  "What? Set x=1 & y=2",
])("does not change %s", (text) => expect(maskAddresses(text)).toBe(text));

it("keeps the punctuation after an address", () => {
  expect(maskAddresses("See (https://a.test/?q=secret), then https://b.test/?q=secret.")).toBe(
    "See (https://a.test/?q=…), then https://b.test/?q=….",
  );
});

it("hides the login, the query and the fragment of every address, wherever it is in a text", () => {
  const secret = fc.stringMatching(/^[\w%+~*-]{8,20}$/);
  const parts = fc.record({
    scheme: fc.constantFrom("http", "https", "ssh", "socks5", "ws", "git+ssh"),
    login: fc.option(fc.tuple(secret, secret)),
    host: fc.constantFrom("example.com", "127.0.0.1:8080", "[::1]:443", "a-b.test"),
    query: fc.option(fc.tuple(fc.constantFrom("key", "api_key", "q"), secret)),
    fragment: fc.option(secret),
    around: fc.constantFrom(["", ""], ["The server ", " failed."], ['"', '" is wrong'], ["(", ")"], ["<", ">"]),
  });
  fc.assert(
    fc.property(parts, ({ scheme, login, host, query, fragment, around: [before, after] }) => {
      const end = `/path${query ? `?${query.join("=")}` : ""}${fragment === null ? "" : `#${fragment}`}`;
      const text = `${before}${scheme}://${login ? `${login.join(":")}@` : ""}${host}${end}${after}`;
      const shown = maskAddresses(text);
      for (const each of [login?.[0], login?.[1], query?.[1], fragment])
        if (each !== undefined && each !== null) expect(shown).not.toContain(each);
      expect(shown).toContain(`${host}/path`);
      expect(shown.startsWith(`${before}${scheme}://`)).toBe(true);
      expect(maskAddresses(shown)).toBe(shown);
    }),
  );
});
