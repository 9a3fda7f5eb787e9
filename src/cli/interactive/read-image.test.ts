import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { readImage } from "./read-image.ts";

const png = Buffer.from("\u0089PNG\r\n\u001a\n____________", "latin1");

it("recognizes images by their content, and reads nothing else", async () => {
  const cwd = mkdtempSync(join(tmpdir(), "images-"));
  onTestFinished(() => rmSync(cwd, { recursive: true }));
  const put = (name: string, content: Buffer | string): void => writeFileSync(join(cwd, name), content);
  put("shot.png", png);
  put("named-wrongly.jpg", png);
  put("key.png", "-----BEGIN PRIVATE KEY-----");
  put("large.png", png);
  truncateSync(join(cwd, "large.png"), 6_000_000);
  symlinkSync(join(cwd, "shot.png"), join(cwd, "link.png"));
  execFileSync("mkfifo", [join(cwd, "pipe.png")]);
  const image = { type: "image", mediaType: "image/png", data: png.toString("base64") };
  expect(await readImage("shot.png", cwd)).toEqual(image);
  expect(await readImage("named-wrongly.jpg", cwd)).toEqual(image);
  for (const name of ["key.png", "large.png", "link.png", "pipe.png", "missing.png", "."])
    expect(await readImage(name, cwd), name).toBeUndefined();
});
