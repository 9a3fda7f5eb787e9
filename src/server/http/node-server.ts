import { createPrivateKey, X509Certificate } from "node:crypto";
import { createServer as createHttpServer, type Server } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { errorCode, UserError } from "../../lib/index.ts";
import type { Limits, ServerOptions } from "../server-options.ts";

/**
 * Creates a Node server with limits for slow and greedy clients. Throws a `UserError` if its certificate or key can't
 * be used.
 */
export function createNodeServer(tls: ServerOptions["tls"], limits: Limits): Server {
  const options = {
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersMs,
    requestTimeout: limits.requestMs,
    connectionsCheckingInterval: Math.min(2_000, limits.headersMs / 2),
    // The guard refuses requests without a Host header, and says why.
    requireHostHeader: false,
  };
  if (tls !== undefined) checkTls(tls);
  if (tls === undefined) return createHttpServer(options);
  return createHttpsServer({ ...options, ...tls, handshakeTimeout: limits.headersMs });
}

function checkTls({ cert, key }: NonNullable<ServerOptions["tls"]>): void {
  const pem = "Use a file in PEM format.";
  const certificate = orUndefined(() => new X509Certificate(cert));
  if (certificate === undefined) throw tlsError("--tls-cert does not contain a certificate", pem);
  const privateKey = orUndefined(() => createPrivateKey(key));
  if (privateKey === undefined) throw tlsError("--tls-key does not contain an unencrypted private key", pem);
  if (!certificate.checkPrivateKey(privateKey))
    throw tlsError("The key in --tls-key does not match the certificate in --tls-cert", "Use files that match.");
}

function orUndefined<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

function tlsError(message: string, fix: string): UserError {
  return new UserError(message, { code: "tls", fix, exitCode: 2 });
}

/** Starts listening and returns the port. Throws a `UserError` if the server can't listen. */
export function listen(
  http: Server,
  { port, host }: { readonly port: number; readonly host: string },
): Promise<number> {
  return new Promise((resolve, reject) => {
    http.once("error", (error) => reject(cannotListen(error, { port, host })));
    http.listen(port, host, () => {
      http.removeAllListeners("error");
      http.on("error", () => {});
      resolve((http.address() as AddressInfo).port);
    });
  });
}

function cannotListen(error: Error, { port, host }: { readonly port: number; readonly host: string }): UserError {
  const code = errorCode(error);
  if (code === "EADDRINUSE")
    return new UserError(`Port ${port} is already in use`, {
      code: "port",
      fix: "Choose another one with --port N, or --port 0 for any free port.",
      exitCode: 2,
    });
  const fix = code === "EACCES" ? "Choose a port above 1023." : "Choose one of this machine's addresses with --host.";
  return new UserError(`The server can't listen on ${host} (${code})`, { code: "port", fix, exitCode: 2 });
}
