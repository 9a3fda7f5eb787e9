import { isRecord } from "../../lib/portable.ts";

/** Describes why a request to the server failed. */
export class ClientError extends Error {
  /** HTTP status; 0 if there was no response. */
  readonly status: number;
  /** Short name for programs, such as `unknown_session`; `unreachable` if there was no response. */
  readonly code: string;
  /** Says in one or two sentences what happened and what to do. */
  readonly detail: string;

  constructor(
    { status, code, detail }: Pick<ClientError, "status" | "code" | "detail">,
    { cause }: { readonly cause?: unknown } = {},
  ) {
    super(detail, { cause });
    this.name = "ClientError";
    this.status = status;
    this.code = code;
    this.detail = detail;
  }

  /** Whether the same request may succeed later without a change. */
  get isTemporary(): boolean {
    return this.status === 0 || this.status === 408 || this.status === 429 || this.status >= 500;
  }
}

/** Reads the error from a response: `application/problem+json` from a server, or any format from a proxy. */
export async function errorFrom(response: Response): Promise<ClientError> {
  const { status } = response;
  const text = await response.text().catch(() => "");
  const { code, detail } = problemIn(text);
  return new ClientError({
    status,
    code: code ?? `http_${status}`,
    detail: detail ?? `The server answered with status ${status}. Check that the URL points to a Retinue server.`,
  });
}

function problemIn(text: string): { readonly code?: string; readonly detail?: string } {
  try {
    const body: unknown = JSON.parse(text);
    if (!isRecord(body) || typeof body["code"] !== "string" || typeof body["detail"] !== "string") return {};
    return { code: body["code"], detail: body["detail"] };
  } catch {
    return {};
  }
}

/** Converts the rejection of `fetch`, or of reading a response, to an error. */
export function unreachable(url: string, error: unknown): ClientError {
  const { origin } = new URL(url);
  const detail = `The server at ${origin} can't be reached${reasonOf(error)}. Check that it is running and that the URL is correct.`;
  return new ClientError({ status: 0, code: "unreachable", detail }, { cause: error });
}

function reasonOf(error: unknown): string {
  // Node puts the reason into `cause`; browsers do not expose it.
  const { cause } = Object(error) as { readonly cause?: unknown };
  const { code } = Object(cause) as { readonly code?: unknown };
  return typeof code === "string" ? ` (${code})` : "";
}
