import { parseObject } from "../answer.ts";
import { failureOfConnection } from "../transport/connection-failure.ts";
import { type Connections, sharedConnections } from "../transport/connections.ts";
import type { Exchange, ExchangeListener, ResponseHead } from "../transport/connector.ts";
import { createErrorBody } from "../transport/error-body.ts";
import { failureOfStatus } from "../transport/failure.ts";
import { commonHeaders, modelsUrl } from "./endpoint.ts";
import { providerInfo } from "./provider-info.ts";
import type { ResolvedProvider } from "./providers.ts";

export type ModelList =
  | { readonly ok: true; readonly models: readonly string[] }
  | { readonly ok: false; readonly message: string };

interface ListOptions {
  readonly connections?: Connections;
  readonly timeoutMs?: number;
}

const maxBytes = 8_000_000;

/** Asks a provider for the ids of its models with one short request, so that users can check their setup. */
export async function listModels(
  provider: ResolvedProvider,
  { connections = sharedConnections(), timeoutMs = 5_000 }: ListOptions = {},
): Promise<ModelList> {
  const url = modelsUrl(provider.baseUrl, provider.dialect);
  const info = providerInfo(provider, "");
  const connector = await connections.to(url);
  const headers = { accept: "application/json", ...commonHeaders(provider) };
  return new Promise((resolve) => {
    let exchange: Exchange | undefined;
    let answer: ResponseHead | undefined;
    const chunks: Buffer[] = [];
    let bytes = 0;
    const end = (list: ModelList) => {
      clearTimeout(timer);
      resolve(list);
      exchange?.drop();
    };
    const fail = (message: string) => end({ ok: false, message });
    const failed = (error: NodeJS.ErrnoException) =>
      fail(failureOfConnection(error, { info, reached: false }).error.message);
    const timer = setTimeout(
      () => fail(`${info.host} did not respond in time. Check that the server is running.`),
      timeoutMs,
    );
    const listener: ExchangeListener = {
      began() {},
      sent() {},
      head(head) {
        answer = head;
      },
      data(piece) {
        bytes += piece.length;
        if (bytes > maxBytes) fail(`${info.host} sent too much data for a list of models. Check the base URL.`);
        else chunks.push(piece);
      },
      end(isComplete) {
        if (!isComplete || answer === undefined)
          return fail(`The connection to ${info.host} was lost. Check the network.`);
        const body = Buffer.concat(chunks);
        if (answer.status === 200) return end(readList(body.toString("utf8"), info.host));
        const error = createErrorBody(answer.headers["content-encoding"]);
        error.add(body);
        fail(failureOfStatus({ ...answer, body: error.text(), now: 0 }, info).error.message);
      },
      failed,
    };
    exchange = connector.send({ method: "GET", url, headers, body: [] }, listener);
  });
}

function readList(body: string, host: string): ModelList {
  const { data, models } = (parseObject(body) ?? {}) as { data?: unknown; models?: unknown };
  if (Array.isArray(models)) return { ok: true, models: models.flatMap(geminiModel) };
  if (!Array.isArray(data)) {
    return { ok: false, message: `${host} did not return a list of models. Check the base URL.` };
  }
  const ids = data.map((entry: { id?: unknown } | null) => entry?.id);
  return { ok: true, models: ids.filter((id) => typeof id === "string") };
}

/** Returns the id of a model in Google's list, which also contains models that don't generate content. */
function geminiModel(entry: { name?: unknown; supportedGenerationMethods?: unknown } | null): readonly string[] {
  const { name, supportedGenerationMethods: methods = ["generateContent"] } = entry ?? {};
  const generates = Array.isArray(methods) && methods.includes("generateContent");
  return typeof name === "string" && generates ? [name.replace(/^models\//, "")] : [];
}
