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
  let head = `${method} ${target} HTTP/1.1\r\nhost: ${url.host}\r\nconnection: keep-alive\r\n`;
  if (url.username !== "" && headers["authorization"] === undefined) head += headerLine("authorization", loginOf(url));
  for (const name in headers) head += headerLine(name, headers[name] ?? "");
  for (const name in extra) head += headerLine(name, extra[name] ?? "");
  return `${head}\r\n`;
}

/** What a user and password in an address are sent as. */
export function loginOf({ username, password }: URL): string {
  return `Basic ${Buffer.from(decodeURIComponent(`${username}:${password}`)).toString("base64")}`;
}

function headerLine(name: string, value: string): string {
  if (!token.test(name)) throw unwritable("ERR_INVALID_HTTP_TOKEN", name);
  if (forbidden.test(value)) throw unwritable("ERR_INVALID_CHAR", name);
  return `${name}: ${value}\r\n`;
}

const token = /^[!#$%&'*+.^_`|~\w-]+$/;
const forbidden = /[^\t\u0020-\u007e\u0080-\u00ff]/;

function unwritable(code: string, name: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`the header ${JSON.stringify(name)} has characters that can't be sent`), { code });
}
