import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { RunningProcess } from "../../ports/index.ts";
import { createSandbox } from "./create-sandbox.ts";
import { createSandboxPlace, needsSandbox, type SandboxPlace } from "./sandbox.test-support.ts";

describe("commands in a session", needsSandbox, () => {
  let place: SandboxPlace;
  beforeEach(() => {
    place = createSandboxPlace();
  });
  afterEach(() => place.remove());

  async function start(command: string): Promise<{ running: RunningProcess; said: (text: string) => Promise<void> }> {
    await place.sandbox.ready();
    let output = "";
    let tell = (): void => undefined;
    const running = place.workspace.spawn({
      command: "bash",
      args: ["-c", command],
      tag: `sandbox-test-${process.pid}`,
      confined: true,
      onOutput: (chunk) => {
        output += Buffer.from(chunk).toString();
        tell();
      },
    });
    const said = async (text: string): Promise<void> => {
      while (!output.includes(text)) {
        await new Promise<void>((resolve) => {
          tell = resolve;
        });
      }
    };
    return { running, said };
  }

  it("can reach each other's servers", async () => {
    const script = `require("http").createServer((q,r)=>r.end("hi")).listen(8123,"127.0.0.1",()=>console.log("up"))`;
    const server = await start(`exec ${process.execPath} -e '${script}'`);
    await server.said("up");
    expect(
      (await place.run("exec 3<>/dev/tcp/127.0.0.1/8123; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3")).output,
    ).toContain("hi");
    await server.running.end();
  });

  it("can clean up when they are ended, and are killed if they do not exit", async () => {
    const polite = await start("trap 'echo bye > bye; exit 0' TERM; echo up; while :; do sleep 0.05; done");
    await polite.said("up");
    await polite.running.end();
    expect(readFileSync(join(place.root, "bye"), "utf8")).toBe("bye\n");
    const stubborn = await start("trap '' TERM; echo up; while :; do sleep 0.05; done");
    await stubborn.said("up");
    await stubborn.running.end();
    expect(await stubborn.running.exited).toMatchObject({ code: null });
  });

  it("leave no processes running, no matter how they hide them", async () => {
    const left = await start("env -i setsid bash -c 'echo up; exec sleep 4242' & wait");
    await left.said("up");
    await left.running.end();
    expect(execFileSync("ps", ["ax"]).toString()).not.toContain("sleep 4242");
  });

  it("run as they would without a sandbox", async () => {
    expect(await place.run("exit 7")).toMatchObject({ code: 7, output: "" });
    expect(await place.run("echo out; echo err >&2")).toMatchObject({ code: 0, output: "out\nerr\n", why: undefined });
    expect((await place.run("pwd; id -u; echo $HOME")).output).toBe(
      `${place.root}\n${process.getuid?.()}\n${process.env["HOME"]}\n`,
    );
  });

  /** Returns the id of the process that keeps the session's network open. */
  function holder(): number {
    const { root } = place;
    const { args } = place.sandbox.confine({ root, cwd: root, command: "true", args: [], environment: {} });
    return Number(args[args.indexOf("--target") + 1]);
  }

  it("leave nothing behind when their session closes", async () => {
    expect(await place.run("true")).toMatchObject({ code: 0 });
    const pid = holder();
    expect(existsSync(`/proc/${pid}`)).toBe(true);
    await place.sandbox.close();
    await expect.poll(() => existsSync(`/proc/${pid}`)).toBe(false);
  });

  it("continue after the process that keeps their network open was killed", async () => {
    expect(await place.run("true")).toMatchObject({ code: 0 });
    process.kill(holder(), "SIGKILL");
    const runs = async () => (await place.run("true").catch(() => ({ code: 1 }))).code;
    await expect.poll(runs).toBe(0);
  });
});

describe("a disabled sandbox", () => {
  it("confines nothing and reports nothing", async () => {
    const told: string[] = [];
    const sandbox = createSandbox({
      ...{ mode: "off", scratch: "/nowhere", userHome: "/", writable: [], hidden: [], shown: [], domains: [] },
      tell: (message) => told.push(message),
    });
    expect(await sandbox.ready()).toMatchObject({ kind: "off" });
    expect(told).toEqual([]);
    await sandbox.close();
  });
});
