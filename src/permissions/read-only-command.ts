/** The shell commands that need no rule, word by word. Whatever the table does not name is not read-only. */
export function isReadOnlyCommand(words: readonly string[]): boolean {
  if (words[0] !== "git") return false;
  const rest = words[1] === "--no-pager" ? words.slice(2) : words.slice(1);
  const command = commands.get(rest[0] ?? "");
  if (command === undefined) return false;
  const given = rest.slice(1);
  if (command.needs !== undefined && !given.some((word) => command.needs!.test(word))) return false;
  for (let index = 0; index < given.length; index += 1) {
    const word = given[index]!;
    if (word === "--") return given.slice(index + 1).every(isPlainName);
    if (!word.startsWith("-")) {
      if (!isPlainName(word)) return false;
    } else if (command.takesNumber?.test(word)) {
      index += 1;
      if (!/^\d{1,9}$/.test(given[index] ?? "")) return false;
    } else if (!command.options.some((option) => option.test(word))) return false;
  }
  return true;
}

interface ReadOnlyCommand {
  readonly options: readonly RegExp[];
  /** Options whose next word must be a number. */
  readonly takesNumber?: RegExp;
  /** At least one of these must be there. */
  readonly needs?: RegExp;
}

/** Revisions and paths. A colon would start pathspec magic or name a blob, which git shows through a textconv program. */
function isPlainName(word: string): boolean {
  return word !== "" && !word.startsWith("-") && !word.includes(":") && !/\p{Cc}/u.test(word);
}

// A patch is never shown: git runs external diff and textconv programs of the repository for it. Formats with %G verify
// signatures by a program that the repository can name; a named format could be an alias for one.
const history: readonly RegExp[] = [
  /^--(oneline|all|branches|tags|remotes|graph|no-decorate|abbrev-commit|no-abbrev-commit)$/,
  /^--decorate(=(short|full|auto|no))?$/,
  /^--(merges|no-merges|first-parent|reverse|follow|topo-order|date-order|author-date-order|no-color)$/,
  /^--(stat|shortstat|numstat|name-only|name-status|summary|dirstat|no-patch|no-ext-diff|no-textconv|no-show-signature)$/,
  /^--stat=\d+(,\d+){0,2}$/,
  /^(-s|-i|-\d{1,9}|-n\d{1,9})$/,
  /^--(max-count|skip|abbrev)=\d{1,9}$/,
  /^--(since|after|until|before|author|committer|grep)=\P{Cc}*$/u,
  /^--date=(iso|iso-strict|short|relative|local|default|raw|unix|human|rfc|format:\P{Cc}*)$/u,
  /^--(format|pretty)=(oneline|short|medium|full|fuller|reference|raw)$/,
  /^--(format|pretty)=(?!.*%[-+ ]*G)(t?format:|(?=.*%))\P{Cc}*$/u,
  /^--diff-filter=[A-Za-z]+$/,
];

const commands = new Map<string, ReadOnlyCommand>([
  ["log", { options: history, takesNumber: /^(-n|--max-count|--skip)$/ }],
  ["show", { options: history, needs: /^--(stat|stat=[\d,]+|shortstat|numstat|name-only|name-status|summary)$/ }],
  [
    "status",
    {
      options: [
        /^-(s|b|sb|bs|z|u|uno|unormal|uall)$/,
        /^--(short|branch|long|show-stash|ignored|no-renames|ahead-behind|no-ahead-behind|untracked-files)$/,
        /^--porcelain(=v[12])?$/,
        /^--untracked-files=(no|normal|all)$/,
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
]);
