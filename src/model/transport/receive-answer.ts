import { createParser } from "eventsource-parser";
import { type AnswerReader, parseObject } from "../answer.ts";
import type { ResponseHead } from "../http/response-reader.ts";
import type { About } from "../providers/about.ts";
import { createErrorBody } from "./error-body.ts";
import { type Failure, failure } from "./failure.ts";
import { failureOfStatus, providerFailure } from "./http-failure.ts";
import { createUtf8Decoder } from "./utf8-decoder.ts";

export interface ReceiveOptions {
  readonly reader: AnswerReader;
  readonly about: About;
  readonly maxAnswerBytes: number;
  /** Time of day. */
  readonly now: () => number;
}

export type Verdict = "complete" | Failure;

/** Takes a response's bytes; says what it came to as soon as that is known. */
export interface Receiver {
  data(chunk: Buffer): Verdict | undefined;
  end(clean: boolean): Verdict;
}

export function receiveAnswer(head: ResponseHead, options: ReceiveOptions): Receiver {
  const { maxAnswerBytes, about } = options;
  const encoding = head.headers["content-encoding"] ?? "identity";
  const inner = isAnswer(head) ? answerReceiver(options) : errorReceiver(head, options);
  let bytes = 0;
  return {
    data(chunk) {
      if (isAnswer(head) && encoding !== "identity") return compressed(about, encoding);
      bytes += chunk.length;
      return bytes > maxAnswerBytes ? tooLarge(about, maxAnswerBytes) : inner.data(chunk);
    },
    end: inner.end,
  };
}

export function isAnswer({ status }: ResponseHead): boolean {
  return status >= 200 && status < 300;
}

/** Looks at the first character instead of trusting the content type: servers and gateways get that wrong. */
function answerReceiver({ reader, about }: ReceiveOptions): Receiver {
  const decode = createUtf8Decoder();
  const text: string[] = [];
  let form: "unknown" | "events" | "json" = "unknown";
  let verdict: Verdict | undefined;
  const parser = createParser({
    onEvent(event) {
      verdict ??= judge(reader, reader.event(event.data), about);
    },
  });

  function feed(piece: string): Verdict | undefined {
    if (form === "unknown") {
      text.push(piece);
      const start = text.join("").trimStart();
      if (start === "") return undefined;
      if (start.startsWith("<")) return notAModel(about);
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
    data: (chunk) => feed(decode.write(chunk)),
    end(clean) {
      const early = feed(decode.end());
      if (early !== undefined) return early;
      const cut = broken(clean ? "protocol" : "connection", about, "it ended before it was complete");
      if (form === "json") {
        const body = parseObject(text.join(""));
        return (body && judge(reader, reader.whole(body), about)) ?? cut;
      }
      if (!clean) return cut;
      // The last line of some servers has no end; half an event is no event.
      parser.feed("\n\n");
      reader.closed();
      return reader.ended() ? "complete" : cut;
    },
  };
}

function judge(reader: AnswerReader, problem: string | undefined, about: About): Verdict | undefined {
  const error = reader.providerError();
  if (error) return providerFailure(error, about);
  if (problem !== undefined) return { ...broken("protocol", about, problem), retry: "few" };
  return reader.ended() ? "complete" : undefined;
}

function errorReceiver({ status, headers }: ResponseHead, { about, now }: ReceiveOptions): Receiver {
  const body = createErrorBody(headers["content-encoding"]);
  return {
    data(chunk) {
      body.add(chunk);
      return undefined;
    },
    end: () => failureOfStatus({ status, headers, body: body.text(), now: now() }, about),
  };
}

function tooLarge(about: About, maxAnswerBytes: number): Failure {
  const megabytes = Math.max(1, Math.floor(maxAnswerBytes / 1_000_000));
  const message = `${about.provider} sent more than ${megabytes} MB for one answer; ask for less at once, or check that ${about.host} really is a model server.`;
  return failure("protocol", { message });
}

function compressed(about: About, encoding: string): Failure {
  const message = `${about.host} compresses its answers (${about.quote(encoding)}) though it was asked not to; switch that off there or in the gateway in between.`;
  return failure("protocol", { message });
}

function notAModel(about: About): Failure {
  const message = `${about.host} answered with a web page instead of a model's answer; check the base URL of ${about.provider}.`;
  return failure("protocol", { message, status: 200 });
}

function broken(code: "protocol" | "connection", { provider, host }: About, problem: string): Failure {
  const message = `The answer of ${provider} (${host}) can't be used, ${problem}; check the network and any gateway in between.`;
  return failure(code, { message, retry: "yes" });
}
