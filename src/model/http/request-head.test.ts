import { describe, expect, it } from "vitest";
import { type HttpRequest, requestHead } from "./request-head.ts";

const request: HttpRequest = {
  method: "POST",
  url: new URL("http://models.test:8080/v1/messages?beta=1"),
  headers: { "x-api-key": "k\u00e9y" },
  body: [],
};

describe("the head of a request", () => {
  it("names the address and every header", () => {
    expect(requestHead(request)).toBe(
      "POST /v1/messages?beta=1 HTTP/1.1\r\nhost: models.test:8080\r\nconnection: keep-alive\r\nx-api-key: k\u00e9y\r\n\r\n",
    );
  });

  it("names the whole address to a proxy, and never a login in it", () => {
    const url = new URL("http://me:pass%20word@models.test/v1");
    const head = requestHead(
      { ...request, url, headers: {} },
      { absolute: true, extra: { "proxy-authorization": "x" } },
    );
    const login = `Basic ${Buffer.from("me:pass word").toString("base64")}`;
    expect(head).toBe(
      `POST http://models.test/v1 HTTP/1.1\r\nhost: models.test\r\nconnection: keep-alive\r\nauthorization: ${login}\r\nproxy-authorization: x\r\n\r\n`,
    );
  });

  it("has a header once, however it is written", () => {
    const url = new URL("http://me:word@models.test/v1");
    const head = requestHead({ ...request, url, headers: { Authorization: "Bearer k", HOST: "other.test" } });
    expect(head.match(/authorization|host/gi)).toEqual(["host", "authorization"]);
    expect(head).toMatch(/host: other\.test\r\n.*authorization: Bearer k\r\n/s);
  });

  it.each([
    ["ERR_INVALID_CHAR", { "x-api-key": "k\r\nx-evil: 1" }],
    ["ERR_INVALID_CHAR", { "x-api-key": "k\n" }],
    ["ERR_INVALID_CHAR", { "x-api-key": "\u20ac" }],
    ["ERR_INVALID_HTTP_TOKEN", { "x api": "k" }],
    ["ERR_INVALID_HTTP_TOKEN", { "x\r\ny": "k" }],
    ["ERR_INVALID_HTTP_TOKEN", { "": "k" }],
  ])("is refused with %s for %j", (code, headers) => {
    expect(() => requestHead({ ...request, headers })).toThrow(expect.objectContaining({ code }));
  });
});
