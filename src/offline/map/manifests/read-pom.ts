import { pageText } from "../../jobs/results.ts";
import { plainText } from "../read-readme.ts";
import { emptyManifest, type Fact, type Manifest, type ManifestSource } from "./manifest.ts";

/** Matches elements of a Maven project that have their own names and descriptions. */
const nested =
  /<!--[\s\S]*?-->|<(parent|dependencies|dependencyManagement|build|profiles|licenses|developers|scm|organization|properties|repositories|distributionManagement|reporting|issueManagement|ciManagement)>[\s\S]*?<\/\1>/g;

export function readPom({ path, page, beside }: ManifestSource): Manifest {
  const text = pageText(page);
  // Keep line breaks, so that line numbers stay the same.
  const own = text.replace(nested, (block) => block.replace(/[^\n]/g, " "));
  const find = (name: string): Fact | undefined => {
    const match = new RegExp(`<${name}>([^<]+)</${name}>`).exec(own);
    const detail = plainText(match?.[1] ?? "");
    if (!match || detail === "" || detail.includes("${")) return undefined;
    return { where: `${path}:${own.slice(0, match.index).split("\n").length}`, what: name, detail };
  };
  const mainClass = /<mainClass>([^<$]+)<\/mainClass>/.exec(text);
  return {
    ...emptyManifest(path),
    title: (find("artifactId") ?? find("name"))?.detail,
    description: find("description"),
    entries: mainClass
      ? [
          {
            where: `${path}:${text.slice(0, mainClass.index).split("\n").length}`,
            what: "main class",
            detail: mainClass[1]?.trim() ?? "",
          },
        ]
      : [],
    commands: [{ where: path, what: `${beside.has("mvnw") ? "./mvnw" : "mvn"} verify`, detail: "" }],
    members: [...own.matchAll(/<module>([^<]+)<\/module>/g)].map(([, member = ""]) => member.trim()),
  };
}
