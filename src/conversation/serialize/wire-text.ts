import type { CallId } from "../../protocol/index.ts";

/**
 * Shortens a call id for the wire. The request number is enough to identify a call within one conversation, so the
 * agent's id is cut to one letter. Otherwise the full id would be sent twice with every later request.
 */
export function wireCallId(callId: CallId): string {
  return callId.replace(own, (_, agent: string, call: string) => agent.slice(0, 1) + call);
}

const own = /^(main|a[0-9a-z]{12})_(\d+_\d+)$/;

/**
 * Replaces the escapes of lone surrogates in JSON text with U+FFFD. Providers reject lone surrogates, so a single one
 * would make every later request fail. The length stays the same, so offsets into the text stay valid.
 */
export function withoutLoneSurrogates(json: string): string {
  if (!surrogateEscape.test(json)) return json;
  return json.replace(escapes, (each) => (loneSurrogate.test(each) ? "\\ufffd" : each));
}

const surrogateEscape = /\\u[dD][89a-fA-F]/;
const loneSurrogate = /^\\u[dD][89a-fA-F]..$/;
/**
 * Matches surrogate pairs first, then any other escape, so that the second of two backslashes is not taken for the
 * start of an escape.
 */
const escapes = /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u[\da-fA-F]{4}|\\./g;
