import type { Skills, ToolSpec } from "../ports/index.ts";
import { bashSpec } from "./bash/spec.ts";
import { bashOutputSpec } from "./bash-output/spec.ts";
import { editSpec } from "./edit/spec.ts";
import { globSpec } from "./glob/spec.ts";
import { grepSpec } from "./grep/spec.ts";
import { killShellSpec } from "./kill-shell/spec.ts";
import { lsSpec } from "./ls/spec.ts";
import { notebookEditSpec } from "./notebook-edit/spec.ts";
import { readSpec } from "./read/spec.ts";
import { skillSpec } from "./skill/spec.ts";
import { todoWriteSpec } from "./todo-write/spec.ts";
import { webFetchSpec } from "./web-fetch/spec.ts";
import type { Search } from "./web-search/search.ts";
import { webSearchSpec } from "./web-search/spec.ts";
import { writeSpec } from "./write/spec.ts";

/** Specs of the built-in tools, in the order in which the model sees them. The order never changes. */
export function toolSpecs({
  search,
  skills,
}: {
  readonly search?: Pick<Search, "takes"> | undefined;
  readonly skills?: Skills | undefined;
}): readonly ToolSpec[] {
  return [
    readSpec,
    editSpec,
    writeSpec,
    notebookEditSpec,
    grepSpec,
    globSpec,
    lsSpec,
    bashSpec,
    bashOutputSpec,
    killShellSpec,
    todoWriteSpec,
    webFetchSpec,
    ...(search ? [webSearchSpec(search)] : []),
    ...(skills ? [skillSpec(skills)] : []),
  ];
}
