import { stripControls } from "../../lib/index.ts";
import type { Dialect } from "../../protocol/index.ts";
import { hostOf } from "./endpoint.ts";
import type { ResolvedProvider } from "./providers.ts";

/** Information about a provider that may appear in messages. */
export interface ProviderInfo {
  readonly provider: string;
  readonly model: string;
  readonly host: string;
  readonly keyVariable: string | undefined;
  /** Wire format of requests to the provider; absent if a program supplies the model. */
  readonly dialect?: Dialect | undefined;
  /** Set if a program supplies the model, so that its key and address are not in the settings. */
  readonly isSupplied?: true | undefined;
  /** Removes secrets from external text, and shortens it to one line of limited length. */
  readonly quote: (text: string) => string;
}

export function providerInfo(provider: ResolvedProvider, model: string): ProviderInfo {
  const secrets = Object.values(provider.secretHeaders())
    .flatMap((value) => [value, value.replace(/^\S+ /, "")])
    .filter((value) => value.length >= 6);
  const { username, password } = new URL(provider.baseUrl);
  if (password !== "") secrets.push(password, decodeURIComponent(password));
  return {
    provider: provider.name,
    model,
    host: hostOf(new URL(provider.baseUrl)),
    keyVariable: provider.keyVariable,
    dialect: provider.dialect,
    quote: (text) => quote(secrets.concat(password === "" ? [] : [`${username}:${password}`]), text),
  };
}

const longestQuote = 400;

/** Returns what is known about the provider of a model that a program supplies. */
export function suppliedInfo({ provider, model }: { readonly provider: string; readonly model: string }): ProviderInfo {
  const quoteWithout = (text: string) => quote([], text);
  return { provider, model, host: provider, keyVariable: undefined, isSupplied: true, quote: quoteWithout };
}

function quote(secrets: readonly string[], text: string): string {
  let line = stripControls(text.slice(0, 20_000)).replace(/\s+/g, " ").trim();
  for (const secret of secrets) line = line.replaceAll(secret, "***");
  // Providers quote parts of an invalid key, and not even part of a key may appear in a transcript.
  line = line.replace(/\b[sp]k-[\w*.-]{6,}|\bAIza[\w*-]{6,}|\bBearer \S{6,}/g, "***");
  return line.length > longestQuote ? `${line.slice(0, longestQuote - 1)}…` : line;
}
