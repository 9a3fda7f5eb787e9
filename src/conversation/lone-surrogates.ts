/**
 * Replaces the escapes of lone surrogates in JSON text by U+FFFD: providers refuse them, and one in a conversation would
 * spoil every later request. The length stays the same, so offsets into the text stay right.
 */
export function withoutLoneSurrogates(json: string): string {
  if (!surrogateEscape.test(json)) return json;
  return json.replace(escapes, (each) => (loneSurrogate.test(each) ? "\\ufffd" : each));
}

const surrogateEscape = /\\u[dD][89a-fA-F]/;
const loneSurrogate = /^\\u[dD][89a-fA-F]..$/;
/** Pairs first, then any other escape: of two backslashes the second begins none. */
const escapes = /\\u[dD][89abAB][\da-fA-F]{2}\\u[dD][c-fC-F][\da-fA-F]{2}|\\u[\da-fA-F]{4}|\\./g;
