import { describe, expect, it, onTestFinished } from "vitest";
import { needs } from "../../testing/needs.test-support.ts";
import { createSandboxPlace, needsSandbox } from "./sandbox.test-support.ts";
import { seccompFilter } from "./seccomp-filter.ts";

const ALLOWED = 0x7fff_0000;
const refused = (error: number): number => 0x0005_0000 | error;

/** Runs a filter as the kernel does, for one system call. */
function judge(program: Buffer, call: { audit: number; number: number; argument?: number }): number {
  const data = new Map([
    [0, call.number],
    [4, call.audit],
    [16, call.argument ?? 0],
  ]);
  let accumulator = 0;
  for (let at = 0; ; at += 8) {
    const [yes, no] = [program.readUInt8(at + 2), program.readUInt8(at + 3)];
    const value = program.readUInt32LE(at + 4);
    switch (program.readUInt16LE(at)) {
      case 0x20:
        accumulator = data.get(value) ?? Number.NaN;
        break;
      case 0x15:
        at += 8 * (accumulator === value ? yes : no);
        break;
      case 0x35:
        at += 8 * (accumulator >= value ? yes : no);
        break;
      case 0x06:
        return value;
      default:
        throw new Error(`unknown instruction at ${at}`);
    }
  }
}

describe.each([
  { architecture: "x64", audit: 0xc000_003e, ptrace: 101, mount: 165, read: 0, execve: 59, socket: 41 },
  { architecture: "arm64", audit: 0xc000_00b7, ptrace: 117, mount: 40, read: 63, execve: 221, socket: 198 },
])("the filter for $architecture", ({ architecture, audit, ptrace, mount, read, execve, socket }) => {
  const program = seccompFilter(architecture) ?? Buffer.alloc(0);
  const at = (number: number, argument = 0): number => judge(program, { audit, number, argument });

  it("rejects calls that reach into processes or the kernel, and no other calls", () => {
    for (const number of [ptrace, mount, 425, 430, 442]) expect(at(number)).toBe(refused(1));
    for (const number of [read, execve, 435, 439]) expect(at(number)).toBe(ALLOWED);
    const all = Array.from({ length: 500 }, (_, number) => number).filter((number) => at(number) === refused(1));
    expect(all.length).toBeGreaterThan(35);
    expect(all.length).toBeLessThan(60);
  });

  it("allows only sockets that network namespaces isolate", () => {
    for (const kind of [1, 2, 10, 16]) expect(at(socket, kind)).toBe(ALLOWED);
    for (const kind of [0, 17, 31, 38, 40]) expect(at(socket, kind)).toBe(refused(97));
  });

  it("rejects calls for another architecture", () => {
    expect(judge(program, { audit: 0x4000_0003, number: 3 })).toBe(refused(38));
    if (architecture === "x64") expect(at(0x4000_0000)).toBe(refused(38));
  });
});

describe("the filter for this machine", () => {
  it("is absent for an unknown architecture", () => expect(seccompFilter("riscv64")).toBeUndefined());

  it.each(["run", "read"] as const)(
    "applies to commands (%s)",
    { ...needs("an x64 processor", process.arch === "x64"), ...needsSandbox },
    async (profile) => {
      const place = createSandboxPlace();
      onTestFinished(() => place.remove());
      // Prints the errors of ptrace, keyctl, io_uring_setup, socket(AF_VSOCK) and getpid.
      const calls = ["101,0,0,0,0", "250,0,0,0,0", "425,1,0", "41,40,1,0", "39"];
      const script = calls.map((call) => `$! = 0; syscall(${call}); print $!+0, " ";`).join(" ");
      const { output } = await place[profile](`perl -e '${script}'; grep Seccomp: /proc/self/status`);
      expect(output).toMatch(/^1 1 1 97 0 Seccomp:\s+2\n$/);
    },
  );
});
