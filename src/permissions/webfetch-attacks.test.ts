import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Policy, Rule } from "../protocol/index.ts";
import { accesses, decide } from "./index.ts";

interface Row {
  readonly id: string;
  readonly setup: { readonly allow?: readonly string[]; readonly deny?: readonly string[]; readonly server?: string };
  readonly input: { readonly url: string };
  readonly acceptable: readonly string[];
}

const rows = readFileSync(join(import.meta.dirname, "fixtures/webfetch-attacks.jsonl"), "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Row);

function judge(url: string, { allow = [], deny = [] }: Row["setup"]): string {
  const rules = [
    ...allow.map((text): Rule => ({ text, effect: "allow", scope: "user" })),
    ...deny.map((text): Rule => ({ text, effect: "deny", scope: "user" })),
  ];
  const policy: Policy = { mode: "default", pool: ["WebFetch"], rules, workspaceRoots: ["/w"], readableRoots: [] };
  return decide({ toolName: "WebFetch", accesses: accesses("WebFetch", { url }), resolved: [], policy }).effect;
}

describe("WebFetch attacks", () => {
  it.each(rows.filter(({ setup }) => setup.server === undefined).map((row) => [row.id, row] as const))(
    "%s",
    (_, { input, setup, acceptable }) => expect(acceptable).toContain(judge(input.url, setup)),
  );

  it.each(rows.filter(({ setup }) => setup.server !== undefined).map((row) => [row.id, row] as const))(
    "%s: the redirect's target is checked as well",
    (_, { input, setup, acceptable }) => {
      const location = /Location: (.*)$/.exec(setup.server ?? "")?.[1]?.replace("{PORT}", "80") ?? "";
      const next = URL.canParse(location, input.url) ? new URL(location, input.url).href : location;
      expect(acceptable).toContain(judge(next, setup));
    },
  );
});

it.each([
  "https://example.com/search?q=how+to+write+a+typescript+declaration+file+for+an+untyped+javascript+library",
  "https://example.com/a-long-title-of-an-article-that-says-in-its-address-all-that-stands-in-it-and-a-little-more-than-that-too",
  "https://example.com/blob/sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  "https://example.com/docs/authentication/api-keys?lang=en&token-types=all",
  "https://example.com/?utm_source=newsletter&utm_medium=email&utm_campaign=2026_11_spring_release_notes_and_more",
])("%s is an ordinary address", (url) => {
  expect(judge(url, { allow: ["WebFetch(domain:example.com)"] })).toBe("allow");
});

it.each([
  ["https://10-0-0-1.sslip.io/", "deny"],
  ["https://app.7f000001.nip.io/", "deny"],
  ["https://8.8.8.8.nip.io/", "allow"],
  ["https://sub.lvh.me/", "deny"],
  ["https://[64:ff9b::7f00:1]/", "deny"],
  [`https://example.com/?key=sk-${"a1".repeat(12)}`, "ask"],
  [`https://example.com/${"QUJD".repeat(40)}`, "ask"],
])("%s is judged as %s, although a rule allows WebFetch", (url, effect) => {
  expect(judge(url, { allow: ["WebFetch"] })).toBe(effect);
});
