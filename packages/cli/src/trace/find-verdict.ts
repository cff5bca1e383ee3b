import { balanceVerdict } from './balance.js';
import { type Causes, findCauses, isLost } from './causes.js';
import { type Condition, firstFailure, hasEndedFirst, lastSign, lateness } from './condition.js';
import { isPending, type Node, type SeenRecord } from './group-records.js';
import { type Naming, namingOf } from './naming.js';
import { openingVerdict } from './opening.js';
import type { Call } from './record-file.js';
import { cycleSentence, guiltySentence, unknownSentence, type WaitingFor, wrongCallSentence } from './sentences.js';
import type { Verdict } from './verdict.js';
import { type Edge, longWait, ownFailure, unfinishedCall, type WaitGraph, waitGraph } from './wait-graph.js';
import { type WrongCall, wrongCall } from './wrong-call.js';

/** Finds out what has happened in a job, from the records of its threads. */
export function findVerdict(records: readonly SeenRecord[], graph: WaitGraph = waitGraph(records)): Verdict {
  const naming = namingOf(graph);
  for (const group of graph.groups.values()) {
    const wrong = wrongCall(group);
    if (wrong) return wrongCallVerdict(naming, wrong);
  }
  return (
    fromFailures(graph, naming) ??
    fromWaits(graph, naming) ??
    fromConditions(graph, naming) ??
    openingVerdict(records) ??
    balanceVerdict(graph, naming)
  );
}

function wrongCallVerdict(naming: Naming, wrong: WrongCall): Verdict {
  const { guilty, others, expected } = wrong;
  return {
    kind: 'wrong-call',
    ranks: naming.ranks(guilty.map(({ node }) => node)),
    ...placeOf(expected),
    sentence: wrongCallSentence(naming, wrong),
    waiting: naming.ranks(others.map(({ node }) => node)),
    seconds: 0,
    missing: naming.missing,
  };
}

function fromFailures(graph: WaitGraph, naming: Naming): Verdict | undefined {
  const starts = graph.nodes.filter((node) => firstFailure(node) !== undefined);
  if (starts.length === 0) return undefined;
  return verdictFrom(graph, naming, { causes: findCauses(graph, starts), starts });
}

function fromWaits(graph: WaitGraph, naming: Naming): Verdict | undefined {
  const starts = graph.nodes.filter((node) => node.members.some(hasPending));
  if (starts.length === 0) return undefined;
  const areTogether = haveDiedTogether(graph);
  const causes = findCauses(graph, starts, areTogether);
  const verdict = verdictFrom(graph, naming, { causes, starts });
  // A rank that has ended will never come.
  const isFinal = !areTogether && ['killed', 'stopped', 'exited', 'failed', 'silent'].includes(verdict.kind);
  const isUnusual =
    areTogether && causes.guilty.length > 0 && causes.guilty.every((node) => isLate(node, verdict.seconds));
  return isFinal || isUnusual || 1e6 * verdict.seconds >= longWait ? verdict : undefined;
}

/** Whether a thread has made no call for much longer than ever before. */
function isLate({ seen: { record } }: Node, seconds: number): boolean {
  const calls = record.calls.filter(({ begun, ended }) => begun > 0 && ended > 0);
  const pauses = calls.slice(1).map(({ begun }, index) => begun - (calls[index] as Call).ended);
  return pauses.length >= fewPauses && 1e6 * seconds > Math.max(shortPause, manyTimes * Math.max(...pauses));
}

const fewPauses = 4;
const manyTimes = 4;
/** In microseconds. */
const shortPause = 50_000;

function hasPending({ calls, messages }: Node['members'][number]): boolean {
  return [...calls.values(), ...messages].some(isPending);
}

/** Whether something has killed all processes at once, so that their ends do not say who is to blame. */
function haveDiedTogether({ nodes, conditions }: WaitGraph): boolean {
  const hasDied = (node: Node) => node.seen.process === 'gone' && node.seen.record.end === 'open';
  if (!nodes.every(hasDied) || nodes.some(hasEndedFirst)) return false;
  const signs = nodes.map(lastSign);
  return conditions.size > 0 && Math.max(...signs) - Math.min(...signs) < longWait;
}

/** What is wrong with threads for which nobody waits. */
function fromConditions(graph: WaitGraph, naming: Naming): Verdict | undefined {
  if (haveDiedTogether(graph)) return togetherVerdict(naming, graph.nodes);
  const kindIn = (node: Node) => (graph.conditions.get(node) as Condition).kind;
  const bad = graph.nodes.filter((node) => {
    const condition = graph.conditions.get(node) as Condition;
    return condition.kind === 'ended'
      ? condition.exitCode !== 0
      : ['killed', 'stopped', 'silent'].includes(condition.kind);
  });
  const first = Math.min(...bad.map(lastSign));
  const early = bad.filter((node) => lastSign(node) - first < lateness);
  if (early.length === 0) return undefined;
  const exited = early.filter((node) => kindIn(node) === 'ended');
  const guilty = exited.length > 0 ? exited : early;
  if (guilty.length > 1 && guilty.every((node) => kindIn(node) === 'killed')) return togetherVerdict(naming, guilty);
  return guiltyVerdict(graph, naming, { guilty, edges: [] });
}

function togetherVerdict(naming: Naming, nodes: readonly Node[]): Verdict {
  const sentence = `${naming.names(nodes)} ended at the same time without closing their records: something killed them together`;
  const processes = new Set(nodes.map(({ seen }) => seen.record.process));
  // Of several processes, one may have been killed first, and the others by their launcher.
  return {
    ...verdictWithout(naming),
    kind: 'killed',
    ranks: processes.size === 1 ? naming.ranks(nodes) : [],
    sentence,
  };
}

/** A verdict without ranks. */
function verdictWithout(naming: Naming) {
  return { ranks: [], waiting: [], seconds: 0, missing: naming.missing };
}

function verdictFrom(
  graph: WaitGraph,
  naming: Naming,
  { causes, starts }: { readonly causes: Causes; readonly starts: readonly Node[] },
): Verdict {
  const { guilty, cycle, edges, missing } = causes;
  if (guilty.length > 0) return guiltyVerdict(graph, naming, causes);
  if (cycle.length > 0 && missing.length === 0) return cycleVerdict(graph, naming, causes);
  const wait = waitFor(graph, edges.length > 0 ? edges : starts.flatMap(ownCalls), starts);
  return {
    kind: 'unknown',
    ranks: [],
    ...placeOf(wait.edge?.call),
    sentence: unknownSentence(naming, edges, wait),
    ...waitingOf(naming, wait),
  };
}

/** The calls in which a node waits although all others have begun them. */
function ownCalls({ members }: Node): readonly Edge[] {
  return members.flatMap((from) => {
    const call = unfinishedCall(from) ?? from.messages.find(isPending);
    return call ? [{ from, to: from.node, rank: from.part.rank, call, isInside: true }] : [];
  });
}

function guiltyVerdict(graph: WaitGraph, naming: Naming, { guilty, edges }: Pick<Causes, 'guilty' | 'edges'>): Verdict {
  const [first] = guilty as [Node];
  const named = new Set(guilty);
  const into = edges.filter(({ to }) => to && named.has(to));
  const victims = new Set(edges.map(({ from }) => from.node).filter((node) => !named.has(node)));
  const wait = waitFor(graph, into, [...victims]);
  const condition = isLost(first, into) ? silentSince(first, wait) : conditionDuring(graph, first, wait);
  const failure = failureOf(first, condition);
  return {
    kind: kindOf(condition, failure, wait),
    ranks: naming.ranks(guilty),
    ...placeOf(wait.edge?.call),
    sentence: guiltySentence(naming, guilty, { condition, failure, wait }),
    ...waitingOf(naming, wait),
  };
}

function silentSince(node: Node, { waiting }: WaitingFor): Condition {
  const at = lastSign(node);
  const noticed = Math.max(at, ...waiting.map((other) => firstFailure(other) ?? at));
  return { kind: 'silent', at, seconds: (noticed - at) / 1e6 };
}

/** The condition of a guilty node while the others waited for it. A process that was killed may not be guilty by that. */
function conditionDuring({ conditions }: WaitGraph, node: Node, { edge, waiting }: WaitingFor): Condition {
  const condition = conditions.get(node) as Condition;
  if (condition.kind !== 'killed') return condition;
  const { at } = condition;
  const noticed = Math.min(...waiting.map((other) => firstFailure(other) ?? endOf(conditions.get(other) as Condition)));
  if (!Number.isFinite(noticed)) return condition;
  // Others notice the end of a process at once, but not that it has been stopped.
  if (noticed - at > lateness) return { kind: 'stopped', at, seconds: (noticed - at) / 1e6, isOver: true };
  if (!edge?.call || edge.isInside || edge.call.begun === 0) return condition;
  return at - edge.call.begun - edge.from.node.seen.offset > longWait ? { kind: 'running' } : condition;
}

function endOf(condition: Condition): number {
  return condition.kind === 'killed' ? condition.at : Number.POSITIVE_INFINITY;
}

function kindOf(condition: Condition, failure: string | undefined, { edge }: WaitingFor): Verdict['kind'] {
  if (failure !== undefined) return /^ERR_COLL_\w*MISMATCH/.test(failure) ? 'wrong-call' : 'failed';
  if (condition.kind === 'ended') return 'exited';
  if (condition.kind !== 'running') return condition.kind;
  return edge?.call && !edge.isInside && !edge.note ? 'absent' : 'exited';
}

/** The error by which a node has failed by itself. */
function failureOf(node: Node, condition: Condition): string | undefined {
  const own = ownFailure(node);
  const { notes } = node.seen.record;
  if (own) {
    const refused = notes.findLast(({ kind, time }) => kind === 'refused' && time <= own.time);
    return refused ? `it refused its call by ${refused.text}` : own.text;
  }
  if (condition.kind !== 'ended' || condition.exitCode === 0 || firstFailure(node) !== undefined) return undefined;
  const exit = notes.findLast(({ kind, text }) => kind === 'exit' && text !== '');
  return exit?.text;
}

function cycleVerdict(graph: WaitGraph, naming: Naming, { cycle, edges }: Causes): Verdict {
  const within = edges.filter(({ from, to }) => to && cycle.includes(from.node) && cycle.includes(to));
  const one = cycle.flatMap((node) => within.filter(({ from }) => from.node === node).slice(0, 1));
  const wait = waitFor(graph, one, cycle);
  return {
    kind: 'cycle',
    ranks: naming.ranks(cycle),
    ...placeOf(wait.edge?.call),
    sentence: cycleSentence(naming, one, wait.seconds),
    ...waitingOf(naming, wait),
  };
}

function placeOf(call: Call | undefined) {
  return call && { group: call.part.group, call: { number: call.number, verb: call.verb } };
}

function waitingOf(naming: Naming, { waiting, seconds }: WaitingFor) {
  return { waiting: naming.ranks(waiting), seconds: Number(seconds.toFixed(3)), missing: naming.missing };
}

/** The wait that is the longest of the edges. */
function waitFor(graph: WaitGraph, edges: readonly Edge[], waiting: readonly Node[]): WaitingFor {
  let found: Edge | undefined;
  let seconds = 0;
  for (const edge of edges) {
    const lasted = secondsOf(graph, edge);
    // An edge with a call that has not been made says more than a note.
    const isBetter =
      found === undefined || (found.note !== undefined && !edge.note) || (!edge.note && lasted > seconds);
    if (isBetter) found = edge;
    seconds = Math.max(seconds, lasted);
  }
  const isLive = found?.call !== undefined && isPending(found.call) && found.from.node.seen.process === 'running';
  return { edge: found, waiting, seconds, isLive };
}

function secondsOf({ conditions }: WaitGraph, { call, to, isInside, from: { node } }: Edge): number {
  if (!call || call.begun === 0) return 0;
  const { offset, seenUntil } = node.seen;
  const hasStopped = !['running', 'busy', 'blocked'].includes((conditions.get(node) as Condition).kind);
  const own = hasStopped ? lastSign(node) : seenUntil;
  // Nothing is known about later calls of a running rank.
  const until = to && !isInside ? Math.min(own, to.seen.seenUntil) : own;
  return Math.max(0, (isPending(call) ? until : call.ended + offset) - call.begun - offset) / 1e6;
}
