import { describe, expect, it } from "vitest";
import { dialects } from "../../protocol/index.ts";
import { connectionsForTest, providerAt, serve } from "../wire.test-support.ts";
import { listModels } from "./list-models.ts";

describe.each(dialects)("the list of models, %s", (dialect) => {
  it("contains the models that the provider offers", async () => {
    const server = await serve({ script: [], models: ["one", "two"] });
    const list = await listModels(providerAt(server.url, dialect), { connections: connectionsForTest() });
    expect(list).toEqual({ ok: true, models: ["one", "two"] });
    expect(server.requests[0]).toMatchObject({
      method: "GET",
      path: dialect === "gemini" ? "/v1beta/models?pageSize=1000" : "/v1/models",
    });
  });

  it("is replaced by a message with advice if there is none", async () => {
    const server = await serve({ script: [] });
    const connections = connectionsForTest();
    await server.close();
    const list = await listModels(providerAt(server.url, dialect), { connections });
    expect(list).toMatchObject({ ok: false, message: expect.stringMatching(/the server is running/) });
  });
});
