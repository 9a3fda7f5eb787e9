import { StringDecoder } from "node:string_decoder";
import { createParser } from "eventsource-parser";
import { type AnswerReader, parseObject } from "../answer.ts";
import type { ProviderInfo } from "../providers/provider-info.ts";
import type { ResponseHead } from "./connector.ts";
import { createErrorBody } from "./error-body.ts";
import { type Failure, failure, failureOfStatus, providerFailure } from "./failure.ts";
import { foreignAnswer } from "./foreign-answer.ts";

export interface ReceiveOptions {
  readonly reader: AnswerReader;
  readonly info: ProviderInfo;
  readonly maxAnswerBytes: number;
  /** Returns the current time, in milliseconds since 1970. */
  readonly now: () => number;
}

export type Verdict = "complete" | Failure;

/** Receives the bytes of a response, and returns the verdict as soon as it is known. */
export interface Receiver {
  data(chunk: Buffer): Verdict | undefined;
  end(clean: boolean): Verdict;
}

export function receiveAnswer(head: ResponseHead, options: ReceiveOptions): Receiver {
  const { maxAnswerBytes, info } = options;
  const encoding = head.headers["content-encoding"] ?? "identity";
  const inner = isAnswer(head) ? answerReceiver(options) : errorReceiver(head, options);
  let bytes = 0;
  return {
    data(chunk) {
      if (isAnswer(head) && encoding !== "identity") return compressed(info, encoding);
      bytes += chunk.length;
      return bytes > maxAnswerBytes ? tooLarge(info, maxAnswerBytes) : inner.data(chunk);
    },
    end: inner.end,
  };
}

export function isAnswer({ status }: ResponseHead): boolean {
  return status >= 200 && status < 300;
}

/** Looks at the first character instead of the content type, which servers and gateways get wrong. */
function answerReceiver({ reader, info }: ReceiveOptions): Receiver {
  const decoder = new StringDecoder("utf8");
  const text: string[] = [];
  let form: "unknown" | "events" | "json" = "unknown";
  let verdict: Verdict | undefined;
  /** Data of the first event. */
  let first: string | undefined;
  /** Lines that belong to no event. Google can report an error in the middle of a stream as plain JSON. */
  const loose: string[] = [];
  const parser = createParser({
    onEvent(event) {
      first ??= event.data;
      verdict ??= explained(judge(reader, reader.event(event.data), info));
    },
    onError(problem) {
      if (problem.type === "unknown-field" && loose.length < MOST_LOOSE_LINES) loose.push(problem.line ?? "");
    },
  });

  /** Finds out whether a response that can't be used is in another dialect. */
  function explained<Given extends Verdict | undefined>(given: Given): Given | Failure {
    if (typeof given !== "object" || given.error.code !== "protocol") return given;
    return foreignAnswer(first ?? text.join(""), info) ?? given;
  }

  function feed(piece: string): Verdict | undefined {
    if (form === "unknown") {
      text.push(piece);
      const start = text.join("").trimStart();
      if (start === "") return undefined;
      if (start.startsWith("<")) return notAModel(info);
      form = start.startsWith("{") ? "json" : "events";
      if (form === "events") parser.feed(text.splice(0).join(""));
    } else if (form === "json") {
      text.push(piece);
    } else {
      parser.feed(piece);
    }
    return verdict;
  }

  return {
    data: (chunk) => feed(decoder.write(chunk)),
    end(clean) {
      const early = feed(decoder.end());
      if (early !== undefined) return early;
      const cut = broken(clean ? "protocol" : "connection", info, "it ended before it was complete");
      if (form === "json") {
        const body = parseObject(text.join(""));
        return explained((body && judge(reader, reader.whole(body), info)) ?? cut);
      }
      // Some servers do not end their last line. An incomplete event is not accepted.
      if (clean) parser.feed("\n\n");
      const said = loose.length > 0 ? parseObject(loose.join("\n")) : undefined;
      if (said && "error" in said) return judge(reader, reader.whole(said), info) ?? cut;
      if (!clean) return cut;
      reader.closed();
      return reader.ended() ? "complete" : explained(cut);
    },
  };
}

const MOST_LOOSE_LINES = 1_000;

function judge(reader: AnswerReader, problem: string | undefined, info: ProviderInfo): Verdict | undefined {
  const error = reader.providerError();
  if (error) return providerFailure(error, info);
  if (problem !== undefined) return { ...broken("protocol", info, problem), retry: "few" };
  return reader.ended() ? "complete" : undefined;
}

function errorReceiver({ status, headers }: ResponseHead, { info, now }: ReceiveOptions): Receiver {
  const body = createErrorBody(headers["content-encoding"]);
  return {
    data(chunk) {
      body.add(chunk);
      return undefined;
    },
    end: () => failureOfStatus({ status, headers, body: body.text(), now: now() }, info),
  };
}

function tooLarge(info: ProviderInfo, maxAnswerBytes: number): Failure {
  const megabytes = Math.max(1, Math.floor(maxAnswerBytes / 1_000_000));
  const message = `${info.provider} sent more than ${megabytes} MB for one response. Ask for less in one request, or check that ${info.host} is a model server.`;
  return failure("protocol", { message });
}

function compressed(info: ProviderInfo, encoding: string): Failure {
  const message = `${info.host} compresses its responses (${info.quote(encoding)}), although Retinue asked it not to. Turn off compression there or in the gateway in between.`;
  return failure("protocol", { message });
}

function notAModel(info: ProviderInfo): Failure {
  const message = `${info.host} returned a web page instead of a model's response. Check the base URL of ${info.provider}.`;
  return failure("protocol", { message, status: 200 });
}

function broken(code: "protocol" | "connection", { provider, host }: ProviderInfo, problem: string): Failure {
  const message = `The response from ${provider} (${host}) can't be used: ${problem}. Check the network and any gateway in between.`;
  return failure(code, { message, retry: "yes" });
}
