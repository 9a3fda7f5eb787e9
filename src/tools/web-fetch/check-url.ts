export type UrlCheck = { readonly ok: true; readonly url: URL } | { readonly ok: false; readonly reason: string };

const maxLength = 2_048;
const localNames = new Set(["localhost", "local", "localdomain", "internal", "intranet", "lan", "home", "corp"]);

/** Parses once; everything after works on the parsed URL. The fragment is dropped, names of local machines are refused. */
export function checkUrl(text: string): UrlCheck {
  if (text.length > maxLength) return refuse(`The URL is longer than ${maxLength} characters.`);
  // The URL parser would silently drop or turn these, and others would read another host than we do.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
  if (/[\u0000-\u0020\u007f\\]/.test(text))
    return refuse("The URL has spaces, control characters or backslashes in it.");
  if (!/^https?:\/\/[^/]/i.test(text)) return refuse("Only complete http:// and https:// URLs can be fetched.");
  const url = parse(text);
  if (!url) return refuse("This is not a valid URL.");
  if (url.username !== "" || url.password !== "") return refuse("A URL with a user name or password is not fetched.");
  const name = bareHost(url.hostname);
  if (isLocalName(name)) return refuse(`${name} names a machine of the local network, not one on the internet.`);
  url.hash = "";
  return { ok: true, url };
}

/** Without brackets, without the dot of the root, in lower case. */
export function bareHost(hostname: string): string {
  return hostname
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
}

/** By label: `docs.example.com` belongs to `example.com`, `badexample.com` does not. */
export function belongsTo(hostname: string, domain: string): boolean {
  const host = bareHost(hostname);
  const parent = bareHost(domain.trim().replace(/^\*\./, ""));
  return parent !== "" && (host === parent || host.endsWith(`.${parent}`));
}

function isLocalName(name: string): boolean {
  if (name.includes(":")) return false;
  const labels = name.split(".");
  const last = labels.at(-1) ?? "";
  if (/^\d+$/.test(last)) return false;
  return labels.length === 1 || localNames.has(last) || name.endsWith(".home.arpa");
}

function parse(text: string): URL | undefined {
  try {
    return new URL(text);
  } catch {
    return undefined;
  }
}

function refuse(reason: string): UrlCheck {
  return { ok: false, reason };
}
