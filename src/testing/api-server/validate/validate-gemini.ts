import { asList, asObject, isObject, type JsonObject } from "../json-values.ts";
import { demand, demandList, demandObject, demandText, firstProblem } from "./check.ts";
import { contentsOf, readSignedPart, SKIPPED_SIGNATURE, signsThoughts } from "./gemini-signature.ts";

type Options = { model: string; seed: number };

/** Returns why Google would reject a request to generateContent; undefined if it would accept the request. */
export function validateGemini(body: unknown, options: Options): string | undefined {
  return firstProblem(() => {
    const request = demandObject(body, "body");
    demandNames(request, "", requestKeys);
    checkTools(request["tools"]);
    checkGeneration(request["generationConfig"] ?? {}, options.model);
    const system = request["systemInstruction"];
    if (system !== undefined) checkParts(demandObject(system, "system_instruction"), "system_instruction");
    const contents = contentsOf(request);
    demand(contents.length > 0, "* GenerateContentRequest.contents: contents is not specified");
    for (const [index, content] of contents.entries()) checkContent(content, `contents[${index}]`);
    checkTurns(contents);
    checkSignatures(contents, options);
  });
}

const requestKeys = [
  ...["contents", "systemInstruction", "tools", "toolConfig", "safetySettings", "generationConfig"],
  ...["cachedContent", "serviceTier", "store"],
];
const declarationKeys = ["name", "description", "parameters", "parametersJsonSchema", "response", "responseJsonSchema"];
const generationKeys = [
  ...["maxOutputTokens", "thinkingConfig", "responseMimeType", "responseSchema", "responseJsonSchema", "temperature"],
  ...["topP", "topK", "candidateCount", "stopSequences", "seed", "presencePenalty", "frequencyPenalty"],
  ...["responseModalities", "mediaResolution", "responseLogprobs", "logprobs"],
];
const partKeys = ["text", "inlineData", "fileData", "functionCall", "functionResponse", "thought", "thoughtSignature"];
const namePattern = /^[a-zA-Z_][\w.:-]{0,127}$/;
const imageTypes = ["image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"];

function demandNames(value: JsonObject, where: string, known: readonly string[]): void {
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  const place = where === "" ? "" : ` at '${where}'`;
  demand(unknown === undefined, `Invalid JSON payload received. Unknown name "${unknown}"${place}: Cannot find field.`);
}

function checkTools(value: unknown): void {
  const names = new Set<unknown>();
  for (const [at, entry] of demandList(value ?? [], "tools").entries()) {
    const tool = demandObject(entry, `tools[${at}]`);
    demandNames(tool, `tools[${at}]`, ["functionDeclarations"]);
    for (const [index, one] of demandList(tool["functionDeclarations"], `tools[${at}]`).entries()) {
      const where = `tools[${at}].function_declarations[${index}]`;
      const declaration = demandObject(one, where);
      demandNames(declaration, where, declarationKeys);
      const { name, parameters, parametersJsonSchema: schema } = declaration;
      demand(namePattern.test(String(name)), `${where}.name: Invalid function name.`);
      demand(!names.has(name), `Duplicate function declaration found: ${name}`);
      names.add(name);
      demandText(declaration["description"], `${where}.description`);
      demand(
        parameters === undefined || schema === undefined,
        `${where}: parameters and parameters_json_schema are mutually exclusive`,
      );
      if (parameters !== undefined) checkSchema(parameters, { where: `${where}.parameters`, known: openApiKeywords });
      if (schema === undefined) continue;
      demand(asObject(schema)["type"] === "object", `${where}.parameters_json_schema: must describe an object`);
    }
  }
}

/** Keywords of the fields that contain a Schema, which is a subset of OpenAPI's. */
const openApiKeywords = [
  ...["type", "format", "title", "description", "nullable", "enum", "maxItems", "minItems", "properties", "required"],
  ...["minProperties", "maxProperties", "minLength", "maxLength", "pattern", "example", "anyOf", "propertyOrdering"],
  ...["default", "items", "minimum", "maximum"],
];
/** Keywords that the API documents for responseJsonSchema. */
const jsonKeywords = [
  ...["$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items", "prefixItems"],
  ...["minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties", "additionalProperties"],
  ...["required", "propertyOrdering"],
];

function checkSchema(value: unknown, { where, known }: { where: string; known: readonly string[] }): void {
  const schema = demandObject(value, where);
  demandNames(schema, where, known);
  const { properties, items, anyOf, oneOf, enum: values } = schema;
  for (const one of asList(values)) {
    demand(["string", "number"].includes(typeof one), `${where}.enum: only strings and numbers are supported`);
  }
  for (const [name, part] of Object.entries(asObject(properties))) {
    checkSchema(part, { where: `${where}.properties.${name}`, known });
  }
  if (items !== undefined) checkSchema(items, { where: `${where}.items`, known });
  for (const part of [...asList(anyOf), ...asList(oneOf)]) checkSchema(part, { where: `${where}.any_of`, known });
}

function checkGeneration(value: unknown, model: string): void {
  const where = "generation_config";
  const config = demandObject(value, where);
  demandNames(config, where, generationKeys);
  const { maxOutputTokens: most = 1, responseJsonSchema: schema, responseMimeType: type } = config;
  const isInRange = Number.isInteger(most) && Number(most) >= 1 && Number(most) <= 65_536;
  demand(
    isInRange,
    `Unable to submit request because it has a maxOutputTokens value of ${most} but the supported range is from 1 (inclusive) to 65537 (exclusive).`,
  );
  if (schema !== undefined) {
    demand(type === "application/json", `${where}.response_json_schema requires response_mime_type: application/json`);
    checkSchema(schema, { where: `${where}.response_json_schema`, known: jsonKeywords });
  }
  if (config["thinkingConfig"] === undefined) return;
  const thinking = demandObject(config["thinkingConfig"], `${where}.thinking_config`);
  demandNames(thinking, `${where}.thinking_config`, ["includeThoughts", "thinkingLevel", "thinkingBudget"]);
  const { thinkingLevel: level, thinkingBudget: budget } = thinking;
  demand(/^(gemini-|test)/.test(model), `Thinking is not enabled for models/${model}.`);
  demand(level === undefined || budget === undefined, "Thinking budget and thinking level can't both be set.");
  demand(!(signsThoughts(model) && budget !== undefined), `Thinking budget is not supported for models/${model}.`);
  const levels = ["low", "medium", "high"];
  demand(
    level === undefined || levels.includes(String(level).toLowerCase()),
    `Thinking level ${level} is not supported for this model.`,
  );
}

function checkContent(content: JsonObject, where: string): void {
  demandNames(content, where, ["role", "parts"]);
  demand(["user", "model"].includes(String(content["role"])), "Please use a valid role: user, model.");
  checkParts(content, where);
}

function checkParts({ parts }: JsonObject, where: string): void {
  const all = demandList(parts, `${where}.parts`);
  demand(all.length > 0, `* GenerateContentRequest.${where}.parts: contents.parts must not be empty.`);
  for (const [index, entry] of all.entries()) checkPart(demandObject(entry, where), `${where}.parts[${index}]`);
}

function checkPart(part: JsonObject, where: string): void {
  demandNames(part, where, partKeys);
  const { thought: _, thoughtSignature: signature, ...data } = part;
  const kinds = Object.keys(data);
  demand(
    kinds.length === 1,
    `* GenerateContentRequest.${where}.data: required oneof field 'data' must have one initialized field`,
  );
  if (signature !== undefined) demandText(signature, `${where}.thought_signature`);
  const { text, inlineData, functionCall, functionResponse } = data;
  if (text !== undefined) demandText(text, `${where}.text`);
  if (inlineData !== undefined) checkImage(inlineData, `${where}.inline_data`);
  if (functionCall !== undefined) {
    const call = demandObject(functionCall, `${where}.function_call`);
    demandNames(call, `${where}.function_call`, ["id", "name", "args"]);
    demandText(call["name"], `${where}.function_call.name`);
    demandObject(call["args"] ?? {}, `${where}.function_call.args`);
  }
  if (functionResponse === undefined) return;
  const answer = demandObject(functionResponse, `${where}.function_response`);
  demandNames(answer, `${where}.function_response`, ["id", "name", "response", "parts"]);
  demand(
    answer["name"] !== undefined && answer["name"] !== "",
    `${where}.function_response.name: Name cannot be empty.`,
  );
  demandObject(answer["response"], `${where}.function_response.response`);
  for (const media of demandList(answer["parts"] ?? [], `${where}.function_response.parts`)) {
    checkImage(asObject(media)["inlineData"], `${where}.function_response.parts`);
  }
}

function checkImage(value: unknown, where: string): void {
  const { mimeType, data } = demandObject(value, where);
  demand(imageTypes.includes(String(mimeType)), `Unsupported MIME type: ${mimeType}`);
  demand(/^[\w+/=-]+$/.test(demandText(data, `${where}.data`)), `${where}.data: Base64 decoding failed`);
}

/** Checks that calls follow a user's turn or results, and that every call gets exactly its result in the next turn. */
function checkTurns(contents: readonly JsonObject[]): void {
  let open: readonly JsonObject[] = [];
  for (const [index, content] of contents.entries()) {
    const results = dataOf(content, "functionResponse");
    const calls = dataOf(content, "functionCall");
    const isModel = content["role"] === "model";
    demand(isModel ? results.length === 0 : calls.length === 0, "Please ensure that only the model calls functions.");
    demand(
      results.length === open.length,
      "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
    );
    const isAnswered = open.every(({ id, name }, at) => results[at]?.["id"] === id && results[at]?.["name"] === name);
    demand(isAnswered, "Please ensure that function responses have the ids and names of their function calls.");
    demand(
      calls.length === 0 || contents[index - 1]?.["role"] === "user",
      "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
    );
    open = calls;
  }
  demand(
    contents.at(-1)?.["role"] === "user",
    "Please ensure that single turn requests end with a user role or the role field is empty.",
  );
}

/**
 * Checks that the first call of every step of the current turn has its signature, and that no signature belongs to
 * another part or another model. The current turn begins at the last user content without results.
 */
function checkSignatures(contents: readonly JsonObject[], { model, seed }: Options): void {
  const isPrompt = (content: JsonObject) =>
    content["role"] === "user" && dataOf(content, "functionResponse").length === 0;
  const start = contents.findLastIndex(isPrompt);
  for (const [index, content] of contents.entries()) {
    const parts = asList(content["parts"]).map(asObject);
    const first = parts.find((part) => part["functionCall"] !== undefined);
    const isMissing = signsThoughts(model) && index > start && first?.["thoughtSignature"] === undefined;
    demand(
      first === undefined || !isMissing,
      "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, " +
        "and missing thought_signature may lead to degraded model performance. Additional data, function call " +
        `\`default_api:${asObject(first?.["functionCall"])["name"]}\`, position ${index + 1}.`,
    );
    for (const part of parts) {
      const { thoughtSignature: signature } = part;
      if (signature === undefined || signature === SKIPPED_SIGNATURE) continue;
      demand(readSignedPart(part, seed)?.model === model, "Thought signature is not valid.");
    }
  }
}

function dataOf(content: JsonObject, kind: string): readonly JsonObject[] {
  const parts = asList(content["parts"]).map(asObject);
  return parts.flatMap((part) => (isObject(part[kind]) ? [part[kind]] : []));
}
