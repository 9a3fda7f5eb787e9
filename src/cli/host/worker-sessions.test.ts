import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { openSession, waitingRequests } from "../../app/index.ts";
import { createScriptedModel } from "../../testing/index.ts";
import { createFileHost } from "./file-host.ts";

it("a request from a worker's session can be answered only through the server", async () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), "worker-sessions-")));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const [home, cwd] = [join(root, "home"), join(root, "project")];
  mkdirSync(cwd);
  const workerHome = join(home, "remote", "box");
  const model = createScriptedModel([{ calls: [{ name: "Bash", input: { command: "touch made.txt" } }] }]);
  const session = await openSession({ cwd, home: workerHome, model, onAsk: "wait", environment: {} });
  onTestFinished(() => session.close());
  void session.prompt("go").result;
  await expect.poll(() => waitingRequests({ home: workerHome })).toHaveLength(1);
  const [request = ""] = waitingRequests({ home: workerHome }).map(({ question }) => question.requestId);

  const host = createFileHost(home);
  expect(host.unlisted("requests")).toBe(
    "1 request is waiting in workers' sessions: start `retinue serve`, then add --server URL.",
  );
  const answer = (id: string) => host.answer({ request: id, verb: "allow", project: false });
  await expect(answer(request.slice(0, 12))).rejects.toMatchObject({
    message: expect.stringContaining("can't be answered here"),
    fix: "It is a request from a worker's session: start `retinue serve`, then add --server URL.",
  });
  await expect(answer("ask_other")).rejects.toThrow('There is no request "ask_other"');
});
