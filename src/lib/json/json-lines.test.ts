import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type JsonLines, parseJsonLines } from "./json-lines.ts";

const values = (lines: JsonLines) => lines.records.map(({ value }) => value);
const parse = (text: string) => parseJsonLines(Buffer.from(text));

describe("parseJsonLines", () => {
  it("returns the value, text, line and position of each record", () => {
    expect(parse('{"a":"é"}\n\n [2] \n')).toEqual({
      records: [
        { value: { a: "é" }, line: 1, offset: 0, text: '{"a":"é"}' },
        { value: [2], line: 3, offset: 12, text: " [2] " },
      ],
      bad: [],
      tornTail: false,
    });
  });

  it.each([
    ["a byte order mark", "\ufeff1\n2\n", [1, 2]],
    ["CRLF", "1\r\n\r\n2\r\n", [1, 2]],
    ["no last newline", "1\n2", [1, 2]],
    ["blank lines", "\n \t\n1\n\n", [1]],
    ["nothing", "", []],
    ["a mark alone", "\ufeff", []],
  ])("tolerates %s", (_, text, expected) => {
    const lines = parse(text);
    expect(values(lines)).toEqual(expected);
    expect([lines.bad, lines.tornTail]).toEqual([[], false]);
  });

  it("distinguishes a torn last line from an invalid line", () => {
    expect(parse('1\n{"a":')).toMatchObject({ records: [{ value: 1 }], bad: [], tornTail: true });
    expect(parse('{"a":\n2\n')).toEqual({
      records: [{ value: 2, line: 2, offset: 6, text: "2" }],
      bad: [{ line: 1, offset: 0, length: 5, reason: "the line is not valid JSON" }],
      tornTail: false,
    });
    expect(parse("1\n\0\0\0")).toMatchObject({ records: [{ value: 1 }], bad: [], tornTail: true });
  });

  it("skips blocks of NUL bytes", () => {
    expect(parse('1\n\0\0\0\n2\n\0\0{"a":3}\n')).toEqual({
      records: [
        { value: 1, line: 1, offset: 0, text: "1" },
        { value: 2, line: 3, offset: 6, text: "2" },
        { value: { a: 3 }, line: 4, offset: 10, text: '{"a":3}' },
      ],
      bad: [
        { line: 2, offset: 2, length: 3, reason: "the line contains only NUL bytes" },
        { line: 4, offset: 8, length: 2, reason: "NUL bytes precede the record" },
      ],
      tornTail: false,
    });
  });

  it("reports a line that is not UTF-8", () => {
    const bytes = Buffer.concat([Buffer.from('"a"\n"'), Buffer.of(0xff), Buffer.from('"\n"é"\n')]);
    const lines = parseJsonLines(bytes);
    expect(values(lines)).toEqual(["a", "é"]);
    expect(lines.bad).toEqual([{ line: 2, offset: 4, length: 3, reason: "the line is not valid UTF-8" }]);
  });

  it("reads back everything that was written", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), (written) => {
        const text = written.map((value) => `${JSON.stringify(value)}\n`).join("");
        expect(parse(text)).toMatchObject({ bad: [], tornTail: false });
        expect(values(parse(text))).toEqual(JSON.parse(JSON.stringify(written)));
      }),
    );
  });

  it("loses only the cut line, wherever the file is cut", () => {
    const whole = Buffer.from('{"n":1,"t":"é"}\n{"n":2}\n{"n":3}\n');
    for (let length = 0; length <= whole.length; length++) {
      const lines = parseJsonLines(whole.subarray(0, length));
      const complete = [16, 24, 32].filter((end) => length >= end).length;
      expect(lines.bad).toEqual([]);
      expect(lines.records.length + Number(lines.tornTail)).toBeGreaterThanOrEqual(complete);
      expect(lines.records.length).toBeGreaterThanOrEqual(complete);
    }
  });

  it("never throws and accounts for every byte", () => {
    fc.assert(
      fc.property(damaged, (bytes) => {
        const { records, bad } = parseJsonLines(bytes);
        for (const { offset, text } of records) {
          expect(Buffer.from(bytes).subarray(offset).toString().startsWith(text)).toBe(true);
        }
        for (const { offset, length } of bad) expect(offset + length).toBeLessThanOrEqual(bytes.length);
      }),
    );
  });
});

const damaged = fc
  .array(
    fc.oneof(
      fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value))),
      fc.constantFrom("\n", "\r\n", "\0\0\0", "\ufeff", "{", '"é', " ").map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 8 }).map((bytes) => Buffer.from(bytes)),
    ),
    { maxLength: 40 },
  )
  .map((parts) => Buffer.concat(parts));
