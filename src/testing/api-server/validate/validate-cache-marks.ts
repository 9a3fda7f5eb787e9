import { asList, isObject, type JsonObject } from "../json-values.ts";
import { demand, demandObject } from "./check.ts";

/** At most four marks, none where the provider does not cache, long-lived ones first. */
export function checkCacheMarks(request: JsonObject): void {
  const places = [
    ...listed(request["tools"], "tools"),
    ...listed(request["system"], "system"),
    ...asList(request["messages"]).flatMap((message, index) => {
      return isObject(message) ? listed(message["content"], `messages.${index}.content`) : [];
    }),
  ];
  const marked = places.filter(({ block }) => block["cache_control"] !== undefined && block["cache_control"] !== null);
  demand(marked.length <= 4, `A maximum of 4 blocks with cache_control may be provided. Found ${marked.length}.`);
  let shortLived: string | undefined;
  for (const { block, where } of marked) {
    const mark = demandObject(block["cache_control"], `${where}.cache_control`);
    demand(mark["type"] === "ephemeral", `${where}.cache_control.type: Input should be 'ephemeral'`);
    const ttl = mark["ttl"] ?? "5m";
    demand(ttl === "5m" || ttl === "1h", `${where}.cache_control.ttl: Input should be '5m' or '1h'`);
    demand(ttl === "5m" || shortLived === undefined, `${where}: a ttl='1h' mark must not come after a '5m' mark`);
    if (ttl === "5m") shortLived = where;
  }
}

function listed(value: unknown, where: string): readonly { block: JsonObject; where: string }[] {
  return asList(value).flatMap((block, index) => (isObject(block) ? [{ block, where: `${where}.${index}` }] : []));
}
