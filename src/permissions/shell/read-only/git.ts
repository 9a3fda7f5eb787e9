import type { ShellWord } from "../shell-word.ts";
import type { ProgramUse } from "./options.ts";

/** Recognises git commands that only read, option by option. */
export function readOnlyGit(given: readonly ShellWord[]): ProgramUse | undefined {
  let start = 0;
  while (/^(--no-pager|-P|--no-optional-locks|--literal-pathspecs)$/.test(given[start]?.text ?? "")) start += 1;
  const [command, ...rest] = given.slice(start);
  if (command === undefined || command.open !== undefined) return undefined;
  if (command.text === "--version" && rest.length === 0) return { paths: [] };
  const inner = nested.get(`${command.text} ${rest[0]?.text}`);
  if (inner !== undefined) {
    return rest.slice(1).every(({ text, open }) => open === undefined && inner.test(text)) ? { paths: [] } : undefined;
  }
  const spec = commands.get(command.text);
  if (spec === undefined) return undefined;
  const texts = rest.map(({ text }) => text);
  if (spec.needs !== undefined && !spec.needs(texts)) return undefined;
  return readArguments(spec, rest);
}

interface GitCommand {
  readonly options: readonly RegExp[];
  /** Options that are followed by a number, a date or a name. */
  readonly takesValue?: RegExp;
  readonly needs?: (texts: readonly string[]) => boolean;
  /** Options that turn operands into patterns. Without one of these options, operands change something. */
  readonly operandsWith?: RegExp;
  /** True if the first operand is a pattern. */
  readonly pattern?: boolean;
}

function readArguments(spec: GitCommand, rest: readonly ShellWord[]): ProgramUse | undefined {
  const operands: ShellWord[] = [];
  for (let index = 0; index < rest.length; index += 1) {
    const word = rest[index]!;
    const { text, open, lead } = word;
    if (open !== undefined && !/^[^-:]/.test(lead)) return undefined;
    if (text === "--") {
      operands.push(...rest.slice(index + 1));
      break;
    }
    if (!text.startsWith("-")) operands.push(word);
    else if (open !== undefined) return undefined;
    else if (spec.takesValue?.test(text)) {
      index += 1;
      if (rest[index] === undefined || rest[index]!.splits || rest[index]!.text.startsWith("-")) return undefined;
    } else if (!spec.options.some((option) => option.test(text))) return undefined;
  }
  const { operandsWith } = spec;
  if (operandsWith !== undefined && operands.length > 0 && !rest.some(({ text }) => operandsWith.test(text)))
    return undefined;
  const paths = spec.pattern === true ? operands.slice(1) : operands;
  return paths.every(isPlainName) ? { paths } : undefined;
}

/**
 * Returns true if no diff program configured by the repository can run: the output is a summary, or `--no-ext-diff` is
 * set.
 */
function showsNoProgramsPatch(texts: readonly string[]): boolean {
  if (texts.includes("--no-ext-diff")) return true;
  const patch = texts.some((text) => /^(-p|-u|-U|--patch|--unified|--binary|--word-diff|--color-words)/.test(text));
  return (
    !patch &&
    texts.some((text) =>
      /^(--(stat|shortstat|numstat|name-only|name-status|summary|dirstat|compact-summary|no-patch|raw|check)(=[\d,]+)?|-s)$/.test(
        text,
      ),
    )
  );
}

/** Returns true for a plain path or name. A leading colon would start pathspec magic. */
function isPlainName({ text, open }: ShellWord): boolean {
  return text !== "" && !text.startsWith(":") && (open === undefined || !text.includes("$")) && !/\p{Cc}/u.test(text);
}

const number = String.raw`\d{1,9}`;

// Formats with %G verify signatures with a program that the repository configures. A named format could be an alias for
// such a format.
const history: readonly RegExp[] = [
  /^--(oneline|all|branches|tags|remotes|graph|no-decorate|abbrev-commit|no-abbrev-commit|full-history|simplify-merges)$/,
  /^--(branches|tags|remotes)=[\w./*-]+$/,
  /^--decorate(=(short|full|auto|no))?$/,
  /^--(merges|no-merges|first-parent|reverse|follow|topo-order|date-order|author-date-order|cherry-pick|left-right)$/,
  /^--(cherry|left-only|right-only|boundary|no-walk|no-show-signature|source|parents|children|no-notes|invert-grep)$/,
  new RegExp(`^(-i|-E|-F|-${number}|-n${number})$`),
  new RegExp(`^--(max-count|skip)=${number}$`),
  /^--(since|after|until|before|author|committer|grep)=\P{Cc}*$/u,
  /^--date=(iso|iso-strict|short|relative|local|default|raw|unix|human|rfc|format:\P{Cc}*)$/u,
  /^--(format|pretty)=(oneline|short|medium|full|fuller|reference|raw)$/,
  /^--(format|pretty)=(?!.*%[-+ ]*G)(t?format:|(?=.*%))\P{Cc}*$/u,
  /^-L\d+,\+?\d+:[\w./-]+$/,
];

const summaries: readonly RegExp[] = [
  /^--(stat|shortstat|numstat|name-only|name-status|summary|dirstat|compact-summary|no-patch|quiet|exit-code|raw)$/,
  /^(--stat=\d+(,\d+){0,2}|-s|-z)$/,
];

const patches: readonly RegExp[] = [
  ...summaries,
  /^(-p|-u|--patch|-U\d{1,5}|--unified=\d{1,5}|--patch-with-stat|-w|-b|-R|-a|--text|-M\d*%?|-C\d*%?|--cc|-c|-m)$/,
  /^--(cached|staged|merge-base|ignore-all-space|ignore-space-change|ignore-space-at-eol|ignore-blank-lines|minimal)$/,
  /^--(patience|histogram|full-index|binary|no-renames|function-context|no-prefix|no-ext-diff|no-textconv|check|no-color)$/,
  /^--(word-diff|word-diff=(plain|color|porcelain|none)|color-words|color=(never|always|auto)|color|pickaxe-regex)$/,
  /^--(diff-filter=[A-Za-z]+|find-renames(=\d+%?)?|find-copies(=\d+%?)?|inter-hunk-context=\d+|abbrev(=\d+)?|relative)$/,
  /^--diff-algorithm=(patience|minimal|histogram|myers|default)$/,
  /^-[SG].+$/s,
];

const historyValues = /^(-n|--max-count|--skip|--since|--after|--until|--before|--author|--committer|--grep|-S|-G|-U)$/;
const listing: readonly RegExp[] = [/^(--list|-l|-i|--ignore-case|--color=never|--no-color|--column|--no-column)$/];
const references: readonly RegExp[] = [
  /^--(merged|no-merged|contains|no-contains|points-at|sort|format|count)(=(?!.*signature)\P{Cc}*)?$/u,
];
const withValue = /^--(merged|no-merged|contains|no-contains|points-at|sort|count)$/;
const never = /^\b$/;

const commands = new Map<string, GitCommand>([
  ["log", { options: [...history, ...patches], takesValue: historyValues }],
  ["whatchanged", { options: [...history, ...patches], takesValue: historyValues }],
  ["show", { options: [...history, ...patches], takesValue: historyValues }],
  // To print a patch, `git diff` runs the program that the repository configures as diff.external.
  [
    "diff",
    {
      options: patches,
      takesValue: /^(-S|-G|-U)$/,
      needs: showsNoProgramsPatch,
    },
  ],
  [
    "status",
    {
      options: [
        /^-(s|b|sb|bs|z|u|uno|unormal|uall|v)$/,
        /^--(short|branch|long|show-stash|ignored|no-renames|ahead-behind|no-ahead-behind|untracked-files)$/,
        /^--porcelain(=v[12])?$/,
        /^--(untracked-files=(no|normal|all)|ignored=(traditional|no|matching)|ignore-submodules(=\w+)?)$/,
      ],
    },
  ],
  [
    "ls-files",
    {
      options: [
        /^-[cdmostuvz]{1,9}$/,
        /^--(cached|deleted|modified|others|stage|unmerged|ignored|exclude-standard|full-name|directory|no-empty-directory|error-unmatch|eol)$/,
        /^--exclude=\P{Cc}*$/u,
      ],
    },
  ],
  ["ls-tree", { options: [/^-[drtlz]+$/, /^--(long|name-only|name-status|full-name|full-tree|abbrev(=\d+)?)$/] }],
  [
    "rev-parse",
    {
      options: [
        /^--(show-toplevel|show-prefix|show-cdup|git-dir|absolute-git-dir|is-inside-work-tree|is-bare-repository|abbrev-ref|short|verify|quiet|symbolic|symbolic-full-name|short=\d+|all|branches|tags|git-common-dir|is-shallow-repository)$/,
        /^-q$/,
      ],
    },
  ],
  ["rev-list", { options: [...history, /^--(count|objects|no-object-names)$/], takesValue: historyValues }],
  [
    "blame",
    {
      options: [
        /^-[weslftnbcM\d]+$/,
        /^--(date=\w+|porcelain|line-porcelain|show-name|show-number|show-email|root|abbrev=\d+|since=\P{Cc}*)$/u,
        /^-L[\d,+/\w.-]+$/,
      ],
      takesValue: /^-L$/,
    },
  ],
  ["shortlog", { options: [/^-[snec]+$/, /^--(summary|numbered|email|all|no-merges|since=\P{Cc}*|until=\P{Cc}*)$/u] }],
  [
    "describe",
    { options: [/^--(tags|all|long|always|dirty|abbrev=\d+|contains|exact-match|first-parent|match=[\w.*-]+)$/] },
  ],
  ["merge-base", { options: [/^(--all|-a|--is-ancestor|--octopus|--fork-point)$/] }],
  ["name-rev", { options: [/^--(name-only|tags|always)$/] }],
  ["cat-file", { options: [/^-[tspe]$/] }],
  ["show-ref", { options: [/^--(heads|tags|head|dereference|verify|quiet|hash(=\d+)?|abbrev(=\d+)?)$/, /^-[dsq]$/] }],
  [
    "for-each-ref",
    {
      options: [/^--(sort|format|count|merged|no-merged|contains|points-at)=(?!.*signature)\P{Cc}*$/u],
      takesValue: withValue,
    },
  ],
  ["check-ignore", { options: [/^-[vnq]+$/, /^--(verbose|non-matching|quiet|no-index)$/] }],
  ["count-objects", { options: [/^-[vH]+$/], operandsWith: never }],
  [
    "branch",
    {
      options: [...listing, ...references, /^(-[avrq]+|-vv|-avv|-rvv|--(all|remotes|verbose|show-current|quiet))$/],
      takesValue: withValue,
      operandsWith: /^--list$/,
    },
  ],
  ["tag", { options: [...listing, ...references, /^-n\d*$/], takesValue: withValue, operandsWith: /^(-l|--list)$/ }],
  ["remote", { options: [/^(-v|--verbose)$/], operandsWith: never }],
  ["reflog", { options: [/^(-\d+|-n\d+|--oneline|--all)$/], operandsWith: never }],
  [
    "grep",
    {
      options: [
        /^-[niwvlLchHIEFGPopqWaz\d]+$/,
        /^-[ABC]\d+$/,
        /^--(line-number|ignore-case|word-regexp|invert-match|files-with-matches|name-only|count|cached|untracked|fixed-strings|extended-regexp|perl-regexp|heading|break|show-function|function-context|only-matching|column|full-name|all-match|and|or|not)$/,
      ],
      takesValue: /^-[ABCm]$/,
      pattern: true,
    },
  ],
]);

/** Commands with a subcommand, and the words that may follow. */
const nested = new Map<string, RegExp>([
  ["stash list", /^(-\d+|--oneline)$/],
  ["stash show", /^(--stat|--name-only|--name-status|stash@\{\d+\}|\d+)$/],
  ["reflog show", /^(-\d+|-n\d+|--oneline|[\w./@{}][\w./@{}-]*)$/],
  ["worktree list", /^(--porcelain|-v|-z)$/],
  ["remote get-url", /^\w[\w./-]*$/],
  ["config --get", /^[\w][\w.-]*$/],
  ["config --get-all", /^[\w][\w.-]*$/],
]);
