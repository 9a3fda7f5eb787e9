/**
 * Replaces the login, the query values and the fragment of every address in a text with "…", because they may contain
 * passwords and keys. An address without a scheme, such as `name:password@host`, is recognized only if it is the whole
 * text or in double quotes.
 */
export function maskAddresses(text: string): string {
  if (!/[@?&#]/.test(text)) return text;
  return text
    .replace(/:\/\/[^\s"'<>`]+/g, maskAddress)
    .replace(/(?<=^|")[^\s"/:@]+:[^\s"@][^\s"]*(?=$|")/g, (each) => (each.includes("://") ? each : maskLogin(each)))
    .replace(queryValue, "$1…");
}

/** Does the same for a text that is known to be one address, even if it is not valid. */
export function maskAddress(address: string): string {
  const [, before = "", query = "", fragment = ""] = /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(maskLogin(address)) ?? [];
  const values = query.replace(queryValue, "$1…");
  const shownQuery = values.includes("=") || query.length < 2 ? values : "?…";
  return `${before}${shownQuery}${fragment.length < 2 ? fragment : "#…"}`;
}

/** Replaces only the logins, in a text in which the rest of an address matters, such as a command. */
export function maskLogins(text: string): string {
  return text.includes("@") ? text.replace(/:\/\/[^\s"'<>`]+/g, maskLogin) : text;
}

/** Matches a name in a query and its value, but not punctuation after the value. */
const queryValue = /([?&][^\s"'<>`=&#?]+=)[^\s"'<>`&#]*[^\s"'<>`&#.,;:!?)\]]/g;

/** Replaces the login in a text that is known to be one address, even if it is not valid. */
export function maskLogin(address: string): string {
  const [scheme = ""] = /^[a-z\d+.-]*:\/\//i.exec(address) ?? [];
  const rest = address.slice(scheme.length);
  // In an invalid address, the password may contain any character.
  const isValid = scheme !== "" && URL.canParse(`http://${rest}`);
  const [authority = ""] = isValid ? (/^[^/?#\\]*/.exec(rest) ?? []) : [rest];
  const end = authority.lastIndexOf("@");
  return end === -1 ? address : `${scheme}…${rest.slice(end)}`;
}
