import { createSign, generateKeyPairSync } from "node:crypto";

/**
 * Creates a certificate for a host name. Certificates are generated for each test, so that no key is stored in the
 * repository.
 */
export function selfSigned(host: string): { readonly key: string; readonly cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  const algorithm = sequence(Buffer.from("06082a8648ce3d040302", "hex"));
  const name = sequence(set(sequence(Buffer.from("0603550403", "hex"), tagged(0x0c, Buffer.from(host)))));
  const validity = sequence(tagged(0x17, Buffer.from("200101000000Z")), tagged(0x17, Buffer.from("491231235959Z")));
  const alternatives = sequence(tagged(0x82, Buffer.from(host)));
  const extension = sequence(Buffer.from("0603551d11", "hex"), tagged(0x04, alternatives));
  const body = sequence(
    tagged(0xa0, Buffer.from("020102", "hex")),
    Buffer.from("020101", "hex"),
    algorithm,
    name,
    validity,
    name,
    publicKey.export({ type: "spki", format: "der" }),
    tagged(0xa3, sequence(extension)),
  );
  const signature = createSign("sha256").update(body).sign(privateKey);
  const der = sequence(body, algorithm, tagged(0x03, Buffer.concat([Buffer.of(0), signature])));
  const lines = der.toString("base64").replace(/.{64}/g, "$&\n");
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
  };
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts));
}

function set(...parts: readonly Buffer[]): Buffer {
  return tagged(0x31, Buffer.concat(parts));
}

function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.of(tag, ...size), content]);
}
