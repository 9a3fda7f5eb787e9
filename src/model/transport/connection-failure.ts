import type { ProviderInfo } from "../providers/provider-info.ts";
import { type Failure, failure, type Retry } from "./failure.ts";

interface Context {
  readonly info: ProviderInfo;
  /** True if the address has responded before, so that the failure may be temporary. */
  readonly reached: boolean;
}

/** Classifies a request that got no response. */
export function failureOfConnection(error: NodeJS.ErrnoException, { info, reached }: Context): Failure {
  const { provider, host } = info;
  const code = codeOf(error);
  const once: Retry = reached ? "yes" : "no";
  const make = (message: string, retry: Retry) => failure("connection", { message, retry });

  if (code === "ECONNREFUSED") {
    return make(
      `${provider} could not be reached: ${host} refused the connection. Check that the server is running and that the base URL is correct.`,
      once,
    );
  }
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return make(
      `${provider} could not be reached: the host ${host} was not found. Check the base URL and the network.`,
      once,
    );
  }
  if (code === "EMFILE" || code === "ENFILE") {
    const message = `${provider} could not be reached because too many files are open. Raise the limit (ulimit -n) or run fewer agents at once.`;
    return { ...make(message, "yes"), pushback: "refused" };
  }
  if (code === "ERR_PROXY") return make(`${provider} could not be reached: ${info.quote(error.message)}.`, once);
  if (certificate.test(code) || certificate.test(error.message)) {
    return make(
      `The certificate of ${host} is not trusted (${code}). Add its certificate authority with NODE_EXTRA_CA_CERTS, or check the base URL.`,
      "no",
    );
  }
  if (/^(EPROTO|ERR_SSL|ERR_TLS)/.test(code)) {
    return make(
      `The TLS connection to ${host} failed (${code}). Check whether the base URL should begin with http:// or https://.`,
      "no",
    );
  }
  if (code.startsWith("HPE_")) {
    const message = `${host} sent an invalid HTTP response (${code}). Check the base URL of ${provider} and any proxy in between.`;
    return failure("protocol", { message, retry: "few" });
  }
  if (code.startsWith("ERR_INVALID") || code === "ERR_UNESCAPED_CHARACTERS") {
    const message = `The request to ${provider} could not be created (${code}). Check its key, headers and base URL for invalid characters.`;
    return failure("bad_request", { message });
  }
  return make(
    `The connection to ${provider} (${host}) failed (${code || info.quote(error.message)}). Check the network.`,
    "yes",
  );
}

const certificate =
  /CERT|SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)|ERR_TLS_CERT|INVALID_CA|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH/;

/** Returns the error's code. If all addresses of a host fail, Node reports one error that itself has no code. */
function codeOf(error: NodeJS.ErrnoException): string {
  if (error.code !== undefined) return error.code;
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : error.cause;
  return (inner as NodeJS.ErrnoException | undefined)?.code ?? "";
}
