import { type ReactNode, useEffect, useRef, useState } from "react";
import { approvalText, type NewAnswer } from "../../client/index.ts";
import { plural } from "../../lib/portable.ts";
import { canonicalToolName, type WaitingApproval } from "../../protocol/index.ts";
import { ConfirmDialog } from "../parts/confirm-dialog.tsx";
import { Signs } from "../parts/exact-text.tsx";
import { groupBy } from "../parts/group-by.ts";
import { SendButton } from "../parts/send-button.tsx";
import { useServer } from "../state/server-context.ts";
import { useStore } from "../state/store.ts";
import { ApprovalCard } from "./approval-card.tsx";
import { requestWanted } from "./request-wanted.ts";

interface RequestListProps {
  /** One session's requests. */
  readonly approvals: readonly WaitingApproval[];
  /** Returns the names of the agents down to the one that is asking. */
  readonly pathOf: (question: WaitingApproval["question"]) => string;
}

/** If there are more requests than this, only the first is shown as a card. */
const FEW = 3;

/** Shows the open requests. If there are many, shows the first one, and the others grouped by kind. */
export function RequestList({ approvals, pathOf }: RequestListProps): ReactNode {
  const list = useRef<HTMLDivElement>(null);
  const [first, setFirst] = useState<string>();
  const isWanted = useStore(requestWanted);
  const chosen = approvals.find(({ question }) => question.requestId === first) ?? approvals[0];
  const cards = approvals.length <= FEW || chosen === undefined ? approvals : [chosen];
  const others = approvals.filter((each) => !cards.includes(each));
  const ids = cards.map(({ question }) => question.requestId);
  useEffect(() => {
    const card = list.current?.querySelector<HTMLElement>("[data-request]");
    const heading = list.current?.closest("section, main")?.querySelector("h1, h2");
    // When the last request has been answered, the heading gets the focus, and keeps it until another one arrives.
    if (!card || (!isWanted && document.activeElement !== heading)) return;
    requestWanted.set(false);
    card.focus();
  }, [ids[0], isWanted]);
  return (
    <div ref={list}>
      {cards.map((approval, index) => (
        <ApprovalCard
          key={approval.question.requestId}
          approval={approval}
          path={pathOf(approval.question)}
          place={ids.slice(0, index + 1).join(" ")}
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
 * Returns a request's kind. Requests are of the same kind if they have the same tool and the same reason. Each question
 * is a separate kind.
 */
function kindOf({ question }: WaitingApproval): string {
  const { call, questions = [], requestId } = question;
  return questions.length > 0 ? requestId : `${canonicalToolName(call.name)}: ${kindReason(question)}`;
}

/** Returns the reason without the path of the file, which is different for each request. */
function kindReason({ call, decision: { reason } }: WaitingApproval["question"]): string {
  const { main } = approvalText(call);
  return !main?.field.endsWith("path") || main.value === "" ? reason : reason.replaceAll(main.value, "the file");
}

interface SimilarRequestsProps {
  readonly requests: readonly WaitingApproval[];
  readonly pathOf: RequestListProps["pathOf"];
  readonly onShow: (requestId: string) => void;
}

/** An answer that has to be confirmed, and the requests that it is for. */
interface AskedAnswer {
  readonly answer: NewAnswer["answer"];
  readonly to: readonly WaitingApproval[];
}

/** Maximum number of requests that are answered at the same time. */
const AT_ONCE = 4;

/**
 * Shows requests of one kind, each with its whole input. They can be answered together, but each one gets its own
 * answer.
 */
function SimilarRequests({ requests, pathOf, onShow }: SimilarRequestsProps): ReactNode {
  const { client } = useServer();
  const [asked, setAsked] = useState<AskedAnswer>();
  const [note, setNote] = useState("");
  const answerAll = async ({ answer, to }: AskedAnswer): Promise<void> => {
    const waiting = [...to];
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
  const reason = question === undefined ? "" : kindReason(question);
  const isQuestion = (question?.questions?.length ?? 0) > 0;
  const name = canonicalToolName(question?.call.name ?? "");
  return (
    <div className="similar">
      <p>
        <b>{isQuestion ? "Question" : name}</b> <span className="dim">{isQuestion ? "" : reason}</span>
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
          <SendButton onClick={() => setAsked({ answer: "allow", to: requests })}>
            Allow these {requests.length}…
          </SendButton>
          <SendButton onClick={() => setAsked({ answer: "deny", to: requests })}>
            Deny these {requests.length}…
          </SendButton>
        </div>
      )}
      {asked !== undefined && (
        <ConfirmDialog
          title={`${asked.answer === "allow" ? "Allow" : "Deny"} ${plural(asked.to.length, "request")}?`}
          action={
            asked.answer === "allow"
              ? `Allow ${plural(asked.to.length, "request")}, once each`
              : `Deny ${plural(asked.to.length, "request")}`
          }
          onConfirm={() => void answerAll(asked)}
          onCancel={() => setAsked(undefined)}
        >
          {name}: {reason} Requests that arrive from now on are not included.
        </ConfirmDialog>
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
