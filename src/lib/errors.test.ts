import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { describeError, errorCode, UserError } from "./errors.ts";

describe("UserError", () => {
  it("has a code, a fix and an exit code", () => {
    const error = new UserError('reviewer.md:4 lists "Grpe"', {
      code: "unknown_tool",
      fix: 'Did you mean "Grep"?',
      exitCode: 2,
    });
    expect(error).toBeInstanceOf(Error);
    expect([error.code, error.exitCode]).toEqual(["unknown_tool", 2]);
    expect(describeError(error)).toBe('reviewer.md:4 lists "Grpe". Did you mean "Grep"?');
  });

  it("contains no passwords and keys from addresses", () => {
    const error = new UserError("https://me:secret@example.com failed", {
      code: "x",
      fix: "Check http://x/?key=secret",
    });
    expect([error.message, error.fix]).toEqual(["https://…@example.com failed", "Check http://x/?key=…"]);
    const plain = new Error("fetch failed", { cause: new Error("https://me:secret@example.com/?key=secret is down") });
    expect(describeError(plain)).toBe("fetch failed (https://…@example.com/?key=… is down)");
  });

  it("exits with 1 and keeps its cause by default", () => {
    const error = new UserError("No.", { code: "no", cause: "why" });
    expect([error.exitCode, error.fix, error.cause]).toEqual([1, undefined, "why"]);
  });
});

describe("describeError", () => {
  it("names a missing file", () => {
    const directory = mkdtempSync(join(tmpdir(), "retinue-errors-"));
    const path = join(directory, "none.json");
    try {
      readFileSync(path);
      expect.unreachable();
    } catch (error) {
      expect(errorCode(error)).toBe("ENOENT");
      expect(describeError(error)).toBe(`${path} does not exist: check the path (ENOENT)`);
    } finally {
      rmSync(directory, { recursive: true });
    }
  });

  it("names the address that refused the connection", async () => {
    const server = createServer();
    await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
    const { port } = server.address() as { port: number };
    await new Promise((done) => server.close(done));
    const error = await new Promise((done) => connect(port, "127.0.0.1").on("error", done));
    expect(describeError(error)).toContain(`The connection to 127.0.0.1:${port} was refused`);
  });

  it.each(["ENOSPC", "EFBIG", "EACCES", "EROFS", "ENOENT", "ECONNREFUSED", "ENOTFOUND", "ETIMEDOUT", "EMFILE"])(
    "describes %s and says what to do",
    (code) => {
      const described = describeError(Object.assign(new Error(`${code}: raw`), { code }));
      expect(described).not.toContain("raw");
      expect(described).toMatch(new RegExp(`: .+ \\(${code}\\)$`));
    },
  );

  it("uses the cause of an error if the error's own message says nothing", () => {
    const refused = Object.assign(new Error("x"), { code: "ECONNREFUSED", address: "::1", port: 80 });
    expect(describeError(new AggregateError([refused], ""))).toContain("to ::1:80 was refused");
    expect(describeError(new TypeError("fetch failed", { cause: refused }))).toMatch(
      /^fetch failed \(The connection to ::1:80/,
    );
  });

  it("returns one line of limited length without control characters", () => {
    expect(describeError(new Error("a\nb\u001b[31mc"))).toBe("a b [31mc");
    expect(describeError("x".repeat(5000)).length).toBe(1000);
  });

  it("never throws", () => {
    const hostile = {
      get message() {
        throw new Error("trap");
      },
    };
    const circular = Object.assign(new Error(""), {});
    circular.cause = circular;
    expect(describeError(hostile)).toContain("could not be described");
    expect(describeError(circular)).toBe("Error");
    expect(describeError(undefined)).toBe("An unknown error occurred.");
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true, withBigInt: true }), (thrown) => {
        const described = describeError(thrown);
        expect(described).not.toBe("");
        expect(described).not.toContain("\n");
      }),
    );
  });
});
