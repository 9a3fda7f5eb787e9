export type Environment = Readonly<Record<string, string | undefined>>;

/** The proxy the environment names for this address. Loopback is never proxied: local model servers live there. */
export function proxyFor(url: URL, environment: Environment): URL | undefined {
  const host = url.hostname.replace(/^\[|\]$/g, "").toLowerCase();
  if (host === "localhost" || host === "::1" || /^127\./.test(host)) return undefined;
  const scheme = url.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const value = read(environment, scheme) ?? read(environment, "ALL_PROXY");
  if (value === undefined || isExempt(url, host, read(environment, "NO_PROXY") ?? "")) return undefined;
  const text = value.includes("://") ? value : `http://${value}`;
  return URL.canParse(text) ? new URL(text) : undefined;
}

function read(environment: Environment, name: string): string | undefined {
  return environment[name.toLowerCase()] || environment[name] || undefined;
}

function isExempt(url: URL, host: string, list: string): boolean {
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== "")
    .some((entry) => {
      if (entry === "*") return true;
      const [, name = "", wantedPort] = /^(.*?)(?::(\d+))?$/.exec(entry) ?? [];
      if (wantedPort !== undefined && wantedPort !== port) return false;
      const domain = name.replace(/^\*?\./, "");
      return host === domain || host.endsWith(`.${domain}`);
    });
}
