import type { ReactNode } from "react";

interface ProblemProps {
  readonly title: string;
  /** Set if the page shows nothing else. */
  readonly isPage?: true | undefined;
  /** What happened and what to do. */
  readonly children: ReactNode;
}

/** Shows a problem in place of the content. */
export function Problem({ title, isPage, children }: ProblemProps): ReactNode {
  return (
    <div className="problem" role="alert">
      {isPage ? <h1>{title}</h1> : <h2>{title}</h2>}
      <p>{children}</p>
    </div>
  );
}
