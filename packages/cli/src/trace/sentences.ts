import { callName, callText, detailsOf, secondsText, systemCallName } from './call-text.js';
import { isClosedBy } from './causes.js';
import type { Condition } from './condition.js';
import type { Node } from './group-records.js';
import type { Naming } from './naming.js';
import type { Edge } from './wait-graph.js';
import type { WrongCall } from './wrong-call.js';

/** Who waits for the guilty ranks, in which call and for how long. */
export interface WaitingFor {
  /** An edge to a guilty node; undefined if nobody waits. */
  readonly edge: Edge | undefined;
  readonly waiting: readonly Node[];
  readonly seconds: number;
  /** Whether the ranks still wait. */
  readonly isLive: boolean;
}

/** Which ranks are guilty of a wait or a failure, and of what. */
export function guiltySentence(
  naming: Naming,
  guilty: readonly Node[],
  {
    condition,
    failure,
    wait,
  }: { readonly condition: Condition; readonly failure?: string | undefined; readonly wait: WaitingFor },
): string {
  const { edge, waiting, seconds, isLive } = wait;
  const subject = naming.names(guilty);
  const be = guilty.length === 1 ? 'is' : 'are';
  const was = guilty.length === 1 ? 'was' : 'were';
  const own = guilty.length === 1 ? 'its' : 'their';
  const deed = () => {
    switch (condition.kind) {
      case 'killed':
        return `${was} ${condition.signal === undefined ? 'killed' : `ended by ${condition.signal}`}`;
      case 'ended':
        return `ended with exit code ${condition.exitCode}`;
      case 'stopped':
        return condition.isOver
          ? `${was} stopped: ${own} process did not run for ${secondsText(condition.seconds)}`
          : `${be} stopped: ${own} process has not run for ${secondsText(condition.seconds)}`;
      case 'silent':
        return `${was} killed or stopped: ${own} records end ${secondsText(condition.seconds)} before those of the others`;
      default:
        return undefined;
    }
  };
  const state = () => {
    if (condition.kind === 'busy') return `${own} event loop has been busy for ${secondsText(condition.seconds)}`;
    if (condition.kind === 'blocked')
      return `${own} thread has been blocked in ${blocker(condition.systemCall)} for ${secondsText(condition.seconds)}`;
    return `${own} event loop turns, so the program does not come to the call`;
  };
  if (failure !== undefined)
    return `${subject} failed by ${guilty.length === 1 ? 'itself' : 'themselves'}${inCall(edge)}: ${failure}`;
  const ended = deed();
  if (!edge) return `${subject} ${ended ?? 'did nothing'}; no rank waits`;
  const others = waitText(naming, waiting, { seconds, isLive });
  if (ended) return `${subject} ${ended}${placeOf(condition, edge)}${others && `; ${others}`}`;
  if (isClosedBy(edge)) return `${subject} closed the group${inCall(edge)}${others && `; ${others}`}`;
  if (!edge.call || edge.isInside) return `${subject} keeps the others waiting${inCall(edge)}; ${state()}`;
  const action = actionOf(edge);
  return `${subject} never ${action}${others && `, in which ${others}`}; ${state()}`;
}

function placeOf({ kind }: Condition, edge: Edge): string {
  return kind === 'stopped' || kind === 'silent' ? `,${inCall(edge)}` : inCall(edge);
}

function blocker(systemCall: number): string {
  return systemCall < 0 ? 'a system call' : systemCallName(systemCall);
}

/** What the node that an edge leads to has not done. */
function actionOf({ call, from }: Edge): string {
  if (!call) return 'answered';
  if (call.verb === 'send') return `received message ${call.number} from rank ${from.part.rank} (${detailsOf(call)})`;
  if (call.verb === 'receive') return `sent message ${call.number} to rank ${from.part.rank} (${detailsOf(call)})`;
  return `called ${callText(call)}`;
}

function inCall(edge: Edge | undefined): string {
  if (!edge?.call) return '';
  const { call, isInside } = edge;
  if (call.verb === 'send' || call.verb === 'receive') return ` in a message with rank ${edge.from.part.rank}`;
  return isInside ? ` in ${callText(call)}` : ` before ${callText(call)}`;
}

function waitText(
  naming: Naming,
  waiting: readonly Node[],
  { seconds, isLive }: { readonly seconds: number; readonly isLive: boolean },
): string {
  if (waiting.length === 0) return '';
  const who = waiting.length > 3 ? `${waiting.length} others` : naming.names(waiting);
  const one = waiting.length === 1;
  const verb = isLive ? (one ? 'has waited' : 'have waited') : 'waited';
  return seconds < 1e-3 ? `${who} waited` : `${who} ${verb} for ${secondsText(seconds)}`;
}

/** Which ranks made another call than the others. */
export function wrongCallSentence(naming: Naming, { guilty, others, call, expected }: WrongCall): string {
  const [wrong, right] = [guilty, others].map((members) => members.map(({ node }) => node)) as [Node[], Node[]];
  const rest = right.length > 3 ? `${right.length} others` : naming.names(right);
  return `${naming.names(wrong)} called ${callText(call)}, but ${rest} called ${callText(expected)}`;
}

/** Ranks that wait for each other. */
export function cycleSentence(naming: Naming, edges: readonly Edge[], seconds: number): string {
  const parts = edges.map(({ from, to, call, rank }) => {
    const what = call
      ? ` in ${call.verb === 'send' ? 'send to' : call.verb === 'receive' ? 'receive from' : `${callName(call)}, for`}`
      : ' for';
    return `${naming.names([from.node])} waits${what} ${to ? naming.names([to]) : `rank ${rank}`}`;
  });
  const sends = edges.every(({ call }) => call?.verb === 'send');
  const reason = sends ? '; each of them sends before it receives' : '';
  return `${naming.names([...new Set(edges.map(({ from }) => from.node))])} have waited for each other for ${secondsText(seconds)}: ${parts.join(', ')}${reason}`;
}

/** What is known if no rank can be blamed. */
export function unknownSentence(naming: Naming, edges: readonly Edge[], wait: WaitingFor): string {
  const missing = [...new Set(edges.filter(({ to }) => !to).map(({ rank }) => rank))].sort((a, b) => a - b);
  const who = waitText(naming, wait.waiting, wait);
  const where = wait.edge?.call ? ` in ${callText(wait.edge.call)}` : '';
  const note = edges.find((edge) => edge.note)?.note;
  const said = note ? ` (${note.text})` : '';
  if (missing.length > 0) {
    const records = missing.length === 1 ? 'whose record is' : 'whose records are';
    return `${who || 'a rank fails'}${where}, for ranks ${records} missing: ${missing.slice(0, 16).join(', ')}; the hosts of these ranks have them${said}`;
  }
  return `${who || 'ranks failed'}${where}, and the records do not say why${said}`;
}
