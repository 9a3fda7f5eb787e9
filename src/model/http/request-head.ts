export interface HttpRequest {
  readonly method: "GET" | "POST";
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: readonly Uint8Array[];
}

export interface HeadOptions {
  /** The whole address stands in the first line: a proxy wants to know where to. */
  readonly absolute?: boolean;
  readonly extra?: Readonly<Record<string, string>>;
}

/** The bytes before the body, one character each. Throws for what can't be written. */
export function requestHead({ method, url, headers }: HttpRequest, { absolute, extra }: HeadOptions = {}): string {
  const target = `${absolute ? url.origin : ""}${url.pathname}${url.search}`;
  const all: Record<string, string> = { host: url.host, connection: "keep-alive" };
  if (url.username !== "") all["authorization"] = loginOf(url);
  for (const name in headers) all[name.toLowerCase()] = headers[name] ?? "";
  for (const name in extra) all[name] = extra[name] ?? "";
  let head = `${method} ${target} HTTP/1.1\r\n`;
  let [names, values] = ["", ""];
  for (const name in all) {
    head += `${name}: ${all[name]}\r\n`;
    // Looked at together: there are few, and a look costs more than the length of what is looked at.
    names += name || " ";
    values += all[name];
  }
  if (!token.test(names)) throw unwritable("ERR_INVALID_HTTP_TOKEN", "a header's name");
  if (forbidden.test(values)) throw unwritable("ERR_INVALID_CHAR", "a header's value");
  return `${head}\r\n`;
}

/** What a user and password in an address are sent as. */
export function loginOf({ username, password }: URL): string {
  return `Basic ${Buffer.from(decodeURIComponent(`${username}:${password}`)).toString("base64")}`;
}

const token = /^[!#$%&'*+.^_`|~\w-]+$/;
const forbidden = /[^\t\u0020-\u007e\u0080-\u00ff]/;

function unwritable(code: string, what: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${what} has characters that can't be sent`), { code });
}
