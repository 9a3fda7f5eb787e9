import { marked, type Token, type Tokens } from "marked";
import { Fragment, memo, type ReactNode } from "react";
import { CodeBlock } from "./code-block.tsx";

/**
 * Shows Markdown. The tokens become React elements, never markup: HTML in the text is shown as text, images are shown
 * as links, and links open only web pages.
 */
export const Markdown = memo(function Markdown({ text }: { readonly text: string }): ReactNode {
  return <div className="markdown">{blocks(marked.lexer(text))}</div>;
});

function blocks(tokens: readonly Token[]): ReactNode {
  return tokens.map((token, index) => <Fragment key={index}>{block(token)}</Fragment>);
}

function block(token: Token): ReactNode {
  switch (token.type) {
    case "paragraph":
      return <p>{inline(token.tokens)}</p>;
    case "heading":
      return <p className={`heading level-${(token as Tokens.Heading).depth}`}>{inline(token.tokens)}</p>;
    case "code":
      return <CodeBlock text={token["text"]} language={(token as Tokens.Code).lang?.split(/\s/)[0]} />;
    case "blockquote":
      return <blockquote>{blocks(token.tokens ?? [])}</blockquote>;
    case "list":
      return <List list={token as Tokens.List} />;
    case "table":
      return <Table table={token as Tokens.Table} />;
    case "hr":
      return <hr />;
    case "space":
    case "def":
      return null;
    case "text":
      return inline(token.tokens ?? [token]);
    default:
      return <p className="raw">{token.raw}</p>;
  }
}

function List({ list: { ordered, start, items } }: { readonly list: Tokens.List }): ReactNode {
  const entries = items.map((item, index) => <li key={index}>{entry(item)}</li>);
  return ordered ? <ol start={start === "" ? 1 : start}>{entries}</ol> : <ul>{entries}</ul>;
}

function entry({ task, checked, tokens }: Tokens.ListItem): ReactNode {
  return (
    <>
      {task && (checked ? "☑ " : "☐ ")}
      {blocks(tokens.filter(({ type }) => type !== "checkbox"))}
    </>
  );
}

function Table({ table: { header, rows, align } }: { readonly table: Tokens.Table }): ReactNode {
  return (
    <div className="wide" tabIndex={0} role="group" aria-label="Table">
      <table>
        <thead>
          <tr>
            {header.map(({ tokens }, index) => (
              <th key={index} className={align[index] ?? undefined}>
                {inline(tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((cells, row) => (
            <tr key={row}>
              {cells.map(({ tokens }, index) => (
                <td key={index} className={align[index] ?? undefined}>
                  {inline(tokens)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function inline(tokens: readonly Token[] = []): ReactNode {
  return tokens.map((token, index) => <Fragment key={index}>{span(token)}</Fragment>);
}

function span(token: Token): ReactNode {
  switch (token.type) {
    case "strong":
      return <strong>{inline(token.tokens)}</strong>;
    case "em":
      return <em>{inline(token.tokens)}</em>;
    case "del":
      return <del>{inline(token.tokens)}</del>;
    case "codespan":
      return <code>{token["text"]}</code>;
    case "br":
      return <br />;
    case "link":
      return <WebLink href={token["href"]}>{inline(token.tokens)}</WebLink>;
    case "image":
      return <WebLink href={token["href"]}>{token["text"] || "image"}</WebLink>;
    case "escape":
      return token["text"];
    case "text":
      return token.tokens === undefined ? token["text"] : inline(token.tokens);
    default:
      return token.raw;
  }
}

function WebLink({ href, children }: { readonly href: string; readonly children: ReactNode }): ReactNode {
  if (!/^https?:\/\//i.test(href))
    return (
      <>
        {children} ({href})
      </>
    );
  return (
    <a href={href} target="_blank" rel="noopener noreferrer" title={href}>
      {children}
    </a>
  );
}
