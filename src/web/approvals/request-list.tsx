import { type ReactNode, useEffect, useRef, useState } from "react";
import { approvalText, type NewAnswer } from "../../client/index.ts";
import { plural } from "../../lib/portable.ts";
import { canonicalToolName, type WaitingApproval } from "../../protocol/index.ts";
import { Signs } from "../parts/exact-text.tsx";
import { groupBy } from "../parts/group-by.ts";
import { useServer } from "../state/server-context.ts";
import { useStore } from "../state/store.ts";
import { ApprovalCard } from "./approval-card.tsx";
import { requestWanted } from "./request-wanted.ts";

interface RequestListProps {
  /** Requests of one session. */
  readonly approvals: readonly WaitingApproval[];
  /** Returns the names of the agents down to the one that asks. */
  readonly pathOf: (question: WaitingApproval["question"]) => string;
}

/** Maximum number of requests that are all shown as cards. */
const FEW = 3;

/** Shows the open requests. If there are many, shows the first one, and the others grouped by kind. */
export function RequestList({ approvals, pathOf }: RequestListProps): ReactNode {
  const list = useRef<HTMLDivElement>(null);
  const [first, setFirst] = useState<string>();
  const hadFocus = useRef(false);
  const isWanted = useStore(requestWanted);
  const chosen = approvals.find(({ question }) => question.requestId === first) ?? approvals[0];
  const cards = approvals.length <= FEW || chosen === undefined ? approvals : [chosen];
  const others = approvals.filter((each) => !cards.includes(each));
  const ids = cards.map(({ question }) => question.requestId).join(" ");
  useEffect(() => {
    const card = list.current?.querySelector<HTMLElement>("[data-request]");
    // When its card is removed, the focus is lost, unless the user has moved it.
    const isLost = hadFocus.current && document.activeElement === document.body;
    if (!card || (!isLost && !isWanted)) return;
    hadFocus.current = false;
    requestWanted.set(false);
    card.focus();
  }, [ids, isWanted]);
  return (
    <div ref={list}>
      {cards.map((approval) => (
        <ApprovalCard
          key={approval.question.requestId}
          approval={approval}
          path={pathOf(approval.question)}
          onAnswer={(had) => {
            hadFocus.current = had;
          }}
        />
      ))}
      {others.length > 0 && <OtherRequests others={others} pathOf={pathOf} onShow={setFirst} />}
    </div>
  );
}

interface OtherRequestsProps {
  readonly others: readonly WaitingApproval[];
  readonly pathOf: RequestListProps["pathOf"];
  readonly onShow: (requestId: string) => void;
}

function OtherRequests({ others, pathOf, onShow }: OtherRequestsProps): ReactNode {
  const [isOpen, setIsOpen] = useState(false);
  const kinds = groupBy(others, kindOf);
  return (
    <details className="more-requests" onToggle={({ currentTarget }) => setIsOpen(currentTarget.open)}>
      <summary>{others.length} more</summary>
      {isOpen &&
        [...kinds].map(([kind, same]) => (
          <SimilarRequests key={kind} requests={same} pathOf={pathOf} onShow={onShow} />
        ))}
    </details>
  );
}

/**
 * Requests are of the same kind if they are for the same tool and the same reason. Each question is a kind of its own.
 */
function kindOf({ question: { call, decision, questions = [], requestId } }: WaitingApproval): string {
  return questions.length > 0 ? requestId : `${canonicalToolName(call.name)}: ${decision.reason}`;
}

interface SimilarRequestsProps {
  readonly requests: readonly WaitingApproval[];
  readonly pathOf: RequestListProps["pathOf"];
  readonly onShow: (requestId: string) => void;
}

/** Maximum number of requests that are answered at the same time. */
const AT_ONCE = 4;

/** Requests of one kind, each with its whole input, which can be answered together. Each one gets its own answer. */
function SimilarRequests({ requests, pathOf, onShow }: SimilarRequestsProps): ReactNode {
  const { client } = useServer();
  const [asked, setAsked] = useState<"allow" | "deny">();
  const [note, setNote] = useState("");
  const answerAll = async (answer: NewAnswer["answer"]): Promise<void> => {
    const waiting = [...requests];
    let [done, failed] = [0, 0];
    setAsked(undefined);
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const { sessionId, requestId } = next.question;
        const receipt = await client.sessions
          .open(sessionId)
          .answer(requestId, { answer })
          .catch(() => undefined);
        if (receipt?.status === "done") done++;
        else failed++;
        setNote(`${done} ${answer === "allow" ? "allowed" : "denied"}${failed > 0 ? `, ${failed} not` : ""}.`);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  };
  const [{ question } = { question: undefined }] = requests;
  const isQuestion = (question?.questions?.length ?? 0) > 0;
  const count = plural(requests.length, "request");
  return (
    <div className="similar">
      <p>
        <b>{isQuestion ? "Question" : canonicalToolName(question?.call.name ?? "")}</b>{" "}
        <span className="dim">{isQuestion ? "" : question?.decision.reason}</span>
      </p>
      <ul>
        {requests.map(({ question: each }) => (
          <li key={each.requestId}>
            <button type="button" className="quiet" onClick={() => onShow(each.requestId)}>
              <span className="dim">{pathOf(each)}</span>
            </button>
            <CallLines question={each} />
          </li>
        ))}
      </ul>
      {!isQuestion && requests.length > 1 && (
        <div className="actions">
          {asked === undefined ? (
            <>
              <button type="button" onClick={() => setAsked("allow")}>
                Allow these {requests.length}…
              </button>
              <button type="button" onClick={() => setAsked("deny")}>
                Deny these {requests.length}…
              </button>
            </>
          ) : (
            <>
              <button type="button" className="primary" onClick={() => void answerAll(asked)}>
                {asked === "allow" ? `Allow ${count}, once each` : `Deny ${count}`}
              </button>
              <button type="button" onClick={() => setAsked(undefined)}>
                Cancel
              </button>
            </>
          )}
        </div>
      )}
      <p className="receipt dim" role="status">
        {note}
      </p>
    </div>
  );
}

function CallLines({ question: { call, questions = [] } }: { readonly question: WaitingApproval["question"] }) {
  if (questions.length > 0) return <span>{questions.map(({ question }) => question).join(" ")}</span>;
  const { call: whole, inputs, main } = approvalText(call);
  const name = call.name.length + 1;
  return [main === undefined ? whole : whole.slice(name), ...inputs].map((line) => (
    <code key={line} className="exact-line">
      <Signs text={line} />
    </code>
  ));
}
