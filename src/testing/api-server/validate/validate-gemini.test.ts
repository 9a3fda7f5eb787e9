import { describe, expect, it } from "vitest";
import { SKIPPED_SIGNATURE, signPart } from "./gemini-signature.ts";
import { validateGemini } from "./validate-gemini.ts";

type Body = Record<string, unknown>;
const model = "gemini-4-argon";
const user = { role: "user", parts: [{ text: "Hi" }] };
const says = { role: "model", parts: [{ text: "a" }] };
const callPart = (name: string) => ({ functionCall: { id: name, name, args: {} } });
const signed = (name: string, writer = model) => {
  const part = callPart(name);
  return { ...part, thoughtSignature: signPart(part, { signed: { model: writer, thoughts: "" }, seed: 1 }) };
};
const calls = (...parts: unknown[]) => ({ role: "model", parts });
const answer = (name: string, more: Body = {}) => ({
  functionResponse: { id: name, name, response: { output: "ok" }, ...more },
});
const results = (...parts: unknown[]) => ({ role: "user", parts });
const image = (mimeType: string) => ({ inlineData: { mimeType, data: "AAAA" } });
const declared = (more: Body) => ({ tools: [{ functionDeclarations: [{ name: "a", description: "A.", ...more }] }] });
const schema = (value: unknown) => ({
  generationConfig: { responseMimeType: "application/json", responseJsonSchema: value },
});
const level = (thinkingLevel: string) => ({ generationConfig: { thinkingConfig: { thinkingLevel } } });
const talk = (...contents: unknown[]) => ({ contents: [user, ...contents] });
const check = (body: Body, name = model) => validateGemini({ contents: [user], ...body }, { model: name, seed: 1 });

describe("requests that the Gemini API accepts", () => {
  it.each<[string, Body]>([
    ["one content", { contents: { role: "user", parts: [{ text: "Hi" }] } }],
    [
      "parallel calls of which the first is signed",
      talk(calls(signed("a"), callPart("b")), results(answer("a"), answer("b"))),
    ],
    ["a text after the results", talk(calls(signed("a")), results(answer("a"), { text: "Go on." }))],
    ["calls of earlier turns without signatures", talk(calls(callPart("a")), results(answer("a")), says, user)],
    [
      "the documented value instead of a signature",
      talk(calls({ ...callPart("a"), thoughtSignature: SKIPPED_SIGNATURE }), results(answer("a"))),
    ],
    [
      "an image, and one in a result",
      talk(calls(signed("a")), results(answer("a", { parts: [image("image/png")] }), image("image/webp"))),
    ],
    [
      "a tool described with any JSON schema",
      declared({ parametersJsonSchema: { type: "object", $schema: "x", not: {} } }),
    ],
    ["a level in either case", level("HIGH")],
    [
      "a schema of the answer",
      schema({ type: "object", properties: { a: { enum: ["x", 1] } }, additionalProperties: false }),
    ],
  ])("%s", (_, body) => {
    expect(check(body)).toBeUndefined();
  });

  it("calls without signatures, for a model that does not sign", () => {
    expect(check(talk(calls(callPart("a")), results(answer("a"))), "gemini-2.5-pro")).toBeUndefined();
  });
});

describe("requests that the Gemini API rejects", () => {
  it.each<[string, Body, string]>([
    ["a field of another API", { messages: [] }, 'Unknown name "messages"'],
    ["no contents", { contents: [] }, "contents is not specified"],
    ["another role", talk({ role: "assistant", parts: [{ text: "a" }] }, user), "valid role"],
    ["no parts", talk({ role: "model", parts: [] }, user), "must not be empty"],
    ["a part without data", talk({ role: "model", parts: [{ thoughtSignature: "x" }] }, user), "initialized field"],
    [
      "a part with two kinds of data",
      talk({ role: "model", parts: [{ text: "a", ...callPart("a") }] }, user),
      "initialized field",
    ],
    ["the model's turn at the end", talk(says), "end with a user role"],
    [
      "a call after a text in its own turn",
      talk(says, calls(signed("a")), results(answer("a"))),
      "function call turn comes",
    ],
    ["a call without a result", talk(calls(signed("a")), user), "number of function response parts"],
    ["a result without a call", talk(says, results(answer("a"))), "number of function response parts"],
    ["fewer results than calls", talk(calls(signed("a"), callPart("b")), results(answer("a"))), "number of function"],
    [
      "results in another order",
      talk(calls(signed("a"), callPart("b")), results(answer("b"), answer("a"))),
      "ids and names",
    ],
    ["a result without a name", talk(calls(signed("a")), results(answer("a", { name: "" }))), "Name cannot be empty"],
    ["a result that is no object", talk(calls(signed("a")), results(answer("a", { response: "ok" }))), "object"],
    ["a call without a signature", talk(calls(callPart("a")), results(answer("a"))), "missing a thought_signature"],
    [
      "a signature on another call only",
      talk(calls(callPart("a"), signed("b")), results(answer("a"), answer("b"))),
      "missing a thought",
    ],
    [
      "a call without a signature in a later step",
      talk(calls(signed("a")), results(answer("a")), calls(callPart("b")), results(answer("b"))),
      "`default_api:b`, position 4",
    ],
    [
      "a signature that the server did not send",
      talk(calls({ ...callPart("a"), thoughtSignature: "AAAA" }), results(answer("a"))),
      "not valid",
    ],
    ["a signature of another model", talk(calls(signed("a", "gemini-3.8-flash")), results(answer("a"))), "not valid"],
    ["an animated image", { contents: [results(image("image/gif"))] }, "Unsupported MIME type"],
    ["a tool in another API's form", { tools: [{ name: "a" }] }, 'Unknown name "name"'],
    ["a tool's name with a space", declared({ name: "a b" }), "Invalid function name"],
    ["keywords outside of OpenAPI's subset", declared({ parameters: { type: "object", $schema: "x" } }), "$schema"],
    [
      "two schemas for a tool",
      declared({ parameters: { type: "object" }, parametersJsonSchema: { type: "object" } }),
      "exclusive",
    ],
    ["a schema of the answer without its type", { generationConfig: { responseJsonSchema: {} } }, "response_mime_type"],
    ["an undocumented keyword in the schema of the answer", schema({ type: "object", not: {} }), '"not"'],
    ["other values than strings and numbers", schema({ enum: [true] }), "strings and numbers"],
    ["a budget for thoughts", { generationConfig: { thinkingConfig: { thinkingBudget: 100 } } }, "not supported"],
    ["an unknown level", level("MAX"), "MAX is not supported"],
    ["a level that newer models lack", level("minimal"), "minimal is not supported"],
    ["too long an answer", { generationConfig: { maxOutputTokens: 65_537 } }, "supported range"],
  ])("%s", (_, body, problem) => {
    expect(check(body)).toContain(problem);
  });
});
