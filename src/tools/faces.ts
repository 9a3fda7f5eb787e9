import type { Skills, ToolFace } from "../ports/index.ts";
import { bashFace } from "./bash/face.ts";
import { bashOutputFace } from "./bash-output/face.ts";
import { editFace } from "./edit/face.ts";
import { globFace } from "./glob/face.ts";
import { grepFace } from "./grep/face.ts";
import { killShellFace } from "./kill-shell/face.ts";
import { lsFace } from "./ls/face.ts";
import { notebookEditFace } from "./notebook-edit/face.ts";
import { readFace } from "./read/face.ts";
import { skillFace } from "./skill/face.ts";
import { todoWriteFace } from "./todo-write/face.ts";
import { webFetchFace } from "./web-fetch/face.ts";
import { webSearchFace } from "./web-search/face.ts";
import type { Search } from "./web-search/search.ts";
import { writeFace } from "./write/face.ts";

/** In the order they are declared to the model: it never changes. */
export function toolFaces({
  search,
  skills,
}: {
  readonly search?: Pick<Search, "takes">;
  readonly skills?: Skills;
}): readonly ToolFace[] {
  return [
    readFace,
    editFace,
    writeFace,
    notebookEditFace,
    grepFace,
    globFace,
    lsFace,
    bashFace,
    bashOutputFace,
    killShellFace,
    todoWriteFace,
    webFetchFace,
    ...(search ? [webSearchFace(search)] : []),
    ...(skills ? [skillFace(skills)] : []),
  ];
}
