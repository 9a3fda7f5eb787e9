import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { newPlace, sendRaw, sendTo, startServer } from "../server.test-support.ts";

async function serverWithPage() {
  const place = newPlace();
  const web = join(place.root, "web");
  mkdirSync(join(web, "assets"), { recursive: true });
  writeFileSync(join(web, "index.html"), "<!doctype html>the page");
  writeFileSync(join(web, "assets/index-1a2b.js"), "run();");
  writeFileSync(join(web, "notes.txt"), "not one of the page's files");
  writeFileSync(join(place.root, "secret.js"), "secret");
  return startServer({ place, web });
}

describe("the files of the web view", () => {
  it("are sent without a token, with a policy that allows the page to load only these files", async () => {
    const { url } = await serverWithPage();
    const page = await sendTo(url, { method: "GET", path: "/" });
    expect(page).toMatchObject({ status: 200, text: "<!doctype html>the page" });
    expect(page.headers).toMatchObject({ "cache-control": "no-store", "x-frame-options": "DENY" });
    const policy = page.headers["content-security-policy"];
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy).not.toMatch(/unsafe|https?:|\*/);
    const script = await sendTo(url, { method: "GET", path: "/assets/index-1a2b.js" });
    expect(script).toMatchObject({ status: 200, text: "run();" });
    expect(script.headers["cache-control"]).toContain("immutable");
  });

  it("are compressed for browsers that accept it", async () => {
    const { url } = await serverWithPage();
    const headers = { "accept-encoding": "gzip, br" };
    const response = await fetch(`${url}/assets/index-1a2b.js`, { headers });
    expect(response.headers.get("content-encoding")).toBe("gzip");
    expect(await response.text()).toBe("run();");
  });

  it("are the only files that can be reached", async () => {
    const { url } = await serverWithPage();
    const { host } = new URL(url);
    for (const path of ["/../secret.js", "/assets/../../secret.js", "/%2e%2e/secret.js", "/notes.txt", "/index.html"]) {
      const text = await sendRaw(url, `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
      expect(text, path).toMatch(/^HTTP\/1\.1 401 /);
    }
    const elsewhere = { Host: "attacker.example" };
    expect((await sendTo(url, { method: "GET", path: "/", headers: elsewhere })).status).toBe(421);
    expect((await sendTo(url, { method: "POST", path: "/", body: {} })).status).toBe(401);
  });
});
