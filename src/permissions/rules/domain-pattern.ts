/** `example.com` matches only that host, `*.example.com` its subdomains and `*` any host. */
export type DomainPattern = { readonly host: string; readonly subdomains: boolean } | "any";

export function parseDomainPattern(text: string): DomainPattern | undefined {
  if (text === "*") return "any";
  const subdomains = text.startsWith("*.");
  const host = hostOf(`http://${subdomains ? text.slice(2) : text}`);
  if (host === undefined || text.includes("/") || text.includes("@") || host.includes("*")) return undefined;
  return { host, subdomains };
}

export function matchDomain(pattern: DomainPattern, url: string): boolean {
  if (pattern === "any") return true;
  const host = hostOf(url);
  if (host === undefined) return false;
  return pattern.subdomains ? host.endsWith(`.${pattern.host}`) : host === pattern.host;
}

/** Returns the host of an http or https URL; undefined for anything else. */
export function hostOf(url: string): string | undefined {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || (parsed.protocol !== "http:" && parsed.protocol !== "https:")) return undefined;
  return parsed.hostname.replace(/\.$/, "") || undefined;
}
