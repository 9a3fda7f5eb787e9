import { judgeAddress } from "./judge-address.ts";

export type UrlCheck =
  | { readonly ok: true; readonly url: URL }
  | {
      readonly ok: false;
      readonly reason: string;
      /** The URL, if it was refused only because its host is not on the internet. */
      readonly localUrl?: URL;
    };

const maxLength = 2_048;
const localNames = new Set(["localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "corp"]);

/**
 * Parses a URL, so that all later steps use the same parsed value. Drops the fragment and refuses names of local
 * machines.
 */
export function checkUrl(text: string): UrlCheck {
  if (text.length > maxLength) return refuse(`The URL is longer than ${maxLength} characters.`);
  // The URL parser silently drops or converts these characters, so other programs might see a different host.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are refused
  if (/[\u0000-\u0020\u007f\\]/.test(text))
    return refuse("The URL contains spaces, control characters or backslashes.");
  if (!/^https?:\/\/[^/]/i.test(text)) return refuse("Only complete http:// and https:// URLs can be fetched.");
  const url = parse(text);
  if (!url) return refuse("This is not a valid URL.");
  if (url.username !== "" || url.password !== "") return refuse("A URL with a user name or password can't be fetched.");
  const name = bareHost(url.hostname);
  url.hash = "";
  const local = localReason(name);
  if (local !== undefined) return { ...refuse(`${name} ${local}, which is not on the internet.`), localUrl: url };
  return { ok: true, url };
}

/** Normalizes a host name: removes brackets and a trailing dot, and converts it to lower case. */
export function bareHost(hostname: string): string {
  return hostname
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
}

/** Compares whole labels: `docs.example.com` belongs to `example.com`, `badexample.com` does not. */
export function belongsTo(hostname: string, domain: string): boolean {
  const host = bareHost(hostname);
  const parent = bareHost(domain.trim().replace(/^\*\./, ""));
  return parent !== "" && (host === parent || host.endsWith(`.${parent}`));
}

/**
 * Explains why a host name is local; undefined if it is not. Judges only the name, because the code that connects
 * checks the address that the name resolves to.
 */
function localReason(name: string): string | undefined {
  const labels = name.split(".");
  const last = labels.at(-1) ?? "";
  if (name.includes(":") || /^\d+$/.test(last)) {
    const reason = judgeAddress(name);
    return reason === undefined ? undefined : `is ${reason}`;
  }
  if (labels.length === 1 || localNames.has(last) || name.endsWith(".home.arpa"))
    return "is the name of a machine on the local network";
  if (loopbackNames.some((domain) => belongsTo(name, domain))) return "resolves to this machine";
  const reason = embeddedAddresses(name)
    .map(judgeAddress)
    .find((each) => each !== undefined);
  return reason === undefined ? undefined : `resolves to ${reason}`;
}

/** Public names that resolve to the loopback address. */
const loopbackNames = ["localtest.me", "lvh.me", "vcap.me", "lacolhost.com", "localho.st", "fuf.me"];

/** Extracts addresses from names that resolve to them: `10.0.0.1.nip.io`, `10-0-0-1.sslip.io`, `0a000001.nip.io`. */
function embeddedAddresses(name: string): readonly string[] {
  const plain = /(?:^|[.-])(\d{1,3}(?:\.\d{1,3}){3})\./.exec(name)?.[1];
  const dashed = /(?:^|[.-])(\d{1,3}(?:-\d{1,3}){3})\./.exec(name)?.[1]?.replaceAll("-", ".");
  const hex = /(?:^|[.-])([0-9a-f]{8})\.(?:nip|sslip|xip)\.io$/.exec(name)?.[1];
  const pairs = hex?.match(/../g)?.map((pair) => Number.parseInt(pair, 16));
  return [plain, dashed, pairs?.join(".")].filter((each) => each !== undefined);
}

function parse(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

function refuse(reason: string): { readonly ok: false; readonly reason: string } {
  return { ok: false, reason };
}
