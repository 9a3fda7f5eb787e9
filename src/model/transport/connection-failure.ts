import type { ProviderInfo } from "../providers/provider-info.ts";
import { type Failure, failure, type Retry } from "./failure.ts";

interface Context {
  readonly info: ProviderInfo;
  /** The address answered before: what fails now may be passing. */
  readonly reached: boolean;
}

/** What it means that no answer could be had. */
export function failureOfConnection(error: NodeJS.ErrnoException, { info, reached }: Context): Failure {
  const { provider, host } = info;
  const code = codeOf(error);
  const once: Retry = reached ? "yes" : "no";
  const make = (message: string, retry: Retry) => failure("connection", { message, retry });

  if (code === "ECONNREFUSED") {
    return make(`Nothing answers at ${host} for ${provider}; is the server running, and is the base URL right?`, once);
  }
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") {
    return make(`The host ${host} of ${provider} was not found; check the base URL and the network.`, once);
  }
  if (code === "EMFILE" || code === "ENFILE") {
    const message = `Too many files are open to reach ${provider}; raise the limit (ulimit -n) or run fewer agents at once.`;
    return { ...make(message, "yes"), pushback: "refused" };
  }
  if (code === "ERR_PROXY") return make(`${provider} can't be reached: ${info.quote(error.message)}.`, once);
  if (certificate.test(code) || certificate.test(error.message)) {
    return make(
      `The certificate of ${host} is not trusted (${code}); add its authority with NODE_EXTRA_CA_CERTS, or check the base URL.`,
      "no",
    );
  }
  if (/^(EPROTO|ERR_SSL|ERR_TLS)/.test(code)) {
    return make(
      `${host} can't be spoken to with TLS (${code}); check whether the base URL should begin with http:// or https://.`,
      "no",
    );
  }
  if (code.startsWith("HPE_")) {
    const message = `${host} does not speak HTTP as expected (${code}); check the base URL of ${provider} and any proxy in between.`;
    return failure("protocol", { message, retry: "few" });
  }
  if (code.startsWith("ERR_INVALID") || code === "ERR_UNESCAPED_CHARACTERS") {
    const message = `The request to ${provider} can't be written (${code}); check its key, headers and base URL for odd characters.`;
    return failure("bad_request", { message });
  }
  return make(
    `The connection to ${provider} (${host}) broke (${code || info.quote(error.message)}); check the network.`,
    "yes",
  );
}

const certificate =
  /CERT|SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)|ERR_TLS_CERT|INVALID_CA|PATH_LENGTH_EXCEEDED|HOSTNAME_MISMATCH/;

/** Several addresses of one host fail together as one error without a code of its own. */
function codeOf(error: NodeJS.ErrnoException): string {
  if (error.code !== undefined) return error.code;
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : error.cause;
  return (inner as NodeJS.ErrnoException | undefined)?.code ?? "";
}
