import type { Environment, ProviderEntry } from "./providers.ts";

export interface Credential {
  /** Where the key came from. */
  readonly variable?: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The headers that carry the key and what settings add; a sentence when the key is missing or unusable. */
export function credentialFor(entry: ProviderEntry, environment: Environment): Credential | string {
  const headers = ownHeaders(entry);
  if (typeof headers === "string") return headers;
  const key = findKey(entry, environment);
  if (key === undefined) {
    if (!entry.keyRequired) return { headers };
    const variables = candidates(entry).join(" or ");
    return `The provider "${entry.name}" needs a key: set ${variables} in the environment.`;
  }
  if (!/^[\x21-\x7e]+$/.test(key.value)) {
    return `${key.variable} holds characters that no key has (a space or a line break?): copy the key again.`;
  }
  const bearer = entry.dialect === "openai" || key.variable === "ANTHROPIC_AUTH_TOKEN";
  const carrier: Record<string, string> = bearer
    ? { authorization: `Bearer ${key.value}` }
    : { "x-api-key": key.value };
  return { variable: key.variable, headers: { ...carrier, ...headers } };
}

function findKey(entry: ProviderEntry, environment: Environment): { variable: string; value: string } | undefined {
  for (const variable of candidates(entry)) {
    const value = environment[variable]?.trim();
    if (value) return { variable, value };
  }
  return undefined;
}

function candidates({ apiKeyEnv }: ProviderEntry): readonly string[] {
  if (apiKeyEnv === undefined) return [];
  return apiKeyEnv === "ANTHROPIC_API_KEY" ? [apiKeyEnv, "ANTHROPIC_AUTH_TOKEN"] : [apiKeyEnv];
}

function ownHeaders({ name, headers = {} }: ProviderEntry): Record<string, string> | string {
  const made: Record<string, string> = {};
  for (const [header, value] of Object.entries(headers)) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(header) || /[^\t\x20-\x7e\x80-\xff]/.test(value)) {
      return `The header "${header}" of the provider "${name}" can't be sent: check providers.${name}.headers in your settings.`;
    }
    made[header.toLowerCase()] = value;
  }
  return made;
}
