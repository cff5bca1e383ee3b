import { environment } from './environment.js';
import { hasRankPrefix, logOrigin } from './log-origin.js';
import { operatingSystem } from './operating-system.js';
import { quote } from './quote.js';
import { requireFunction } from './requirements.js';

/**
 * Severity of a line. `warn`: something does not work as asked, or will surprise. `info`: what a user
 * wants to know of a run that goes well, printed by one member of a group. `debug`: details of each
 * member, and repeated messages.
 */
export type LogLevel = 'debug' | 'info' | 'warn';

/** A value of a line's data: plain, so that it can be sent to other threads and written as JSON. */
export type LogValue =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly LogValue[]
  | { readonly [name: string]: LogValue };

/** Where, when and why a line was logged, for programs that filter or store lines. */
export interface LogFields {
  /** The time in UTC, in the format of `Date.prototype.toISOString`: `2026-01-31T12:03:04.123Z`. */
  readonly time: string;
  /**
   * The rank of the member that logs; in the thread of a replica, the number of the replica.
   * Undefined if the thread belongs to no group, or to several members.
   */
  readonly rank?: number | undefined;
  /** The number of the worker of a `MultiWorkerMirroredStrategy`; undefined without one. */
  readonly worker?: number | undefined;
  /** The name of the host; undefined in browsers. */
  readonly host?: string | undefined;
  /** What has happened, such as `group opened`; undefined for lines whose message says everything. */
  readonly event?: string | undefined;
  /** The facts of the event, whose names and units the page on environment variables lists by event. */
  readonly data?: { readonly [name: string]: LogValue } | undefined;
}

/**
 * Receives every log line, at any level. `message` has no time, rank or host, which are in `fields`.
 */
export type LogSink = (level: LogLevel, message: string, fields: LogFields) => void;

/** What a caller of `log` knows about a line; the logger adds the time and the host. */
export type LogSubject = Omit<LogFields, 'time' | 'host'>;

const levels: readonly LogLevel[] = ['debug', 'info', 'warn'];

const consoleSink: LogSink = (level, message, fields) => {
  const wanted = wantedLevel();
  if (wanted === undefined || levels.indexOf(level) < levels.indexOf(wanted)) return;
  print(level, message, fields);
};

/** The lowest level that COLL_LOG selects; undefined for none. */
function wantedLevel(): LogLevel | undefined {
  const wanted = environment('COLL_LOG') || 'warn';
  if (wanted === 'silent') return undefined;
  if (levels.includes(wanted as LogLevel)) return wanted as LogLevel;
  reportUnknown(`COLL_LOG must be debug, info, warn or silent, got ${quote(wanted)}; printing warnings only`);
  return 'warn';
}

function print(level: LogLevel, message: string, fields: LogFields): void {
  const format = environment('COLL_LOG_FORMAT') || 'text';
  if (format !== 'text' && format !== 'json')
    reportUnknown(`COLL_LOG_FORMAT must be text or json, got ${quote(format)}; printing text`);
  const line = format === 'json' ? JSON.stringify({ level, message, ...fields }) : textLine(level, message, fields);
  // A page shows lines by the level of the method. Elsewhere, console.info and console.debug print to standard output.
  if (operatingSystem()) console.error(line);
  else console[level](line);
}

function textLine(level: LogLevel, message: string, { time, rank, worker, host }: LogFields): string {
  const numbers = [
    ...(rank === undefined ? [] : [`rank ${rank}`]),
    ...(worker === undefined || worker === rank ? [] : [`worker ${worker}`]),
  ];
  const where = [...(hasRankPrefix() ? [] : numbers), ...(host === undefined ? [] : [host])].join(', ');
  return `coll ${level} ${time.slice(timeOfDay)}${where && ` [${where}]`} ${message}`;
}

/** Where the time of day begins in an ISO 8601 date. */
const timeOfDay = '2026-01-31T'.length;

/** Each value of a variable that is not known is reported once. */
const reported = new Set<string>();

function reportUnknown(problem: string): void {
  if (reported.has(problem)) return;
  reported.add(problem);
  print('warn', problem, fieldsOf());
}

function fieldsOf(subject: LogSubject = {}): LogFields {
  const { rank, worker, host } = logOrigin();
  const { rank: ownRank = rank, worker: ownWorker = worker, event, data } = subject;
  return { time: new Date().toISOString(), rank: ownRank, worker: ownWorker, host, event, data };
}

let sink: LogSink = consoleSink;
const timesLogged = new Map<string, number>();
// Found when a topic logs a line, since reading the environment costs more than a small collective.
let printsRepetitions = false;

/**
 * Redirects log lines to `next`; without an argument, restores the default: standard error, and in
 * pages the method of the console for the level, such as `console.warn`. Also resets the counters of
 * `logFirst`.
 * @param next called with the level, the text and the fields of each line. Default: standard error or the console of
 * the page
 * @throws ValueError unless `next` is a function
 *
 * @example
 * ```ts
 * import { CollectiveHints, setLogSink } from '@coll/core';
 *
 * const lines: string[] = [];
 * setLogSink((level, message, { host }) => lines.push(`${level} on ${host ? 'a host' : 'a page'}`));
 * new CollectiveHints(); // logs that the name is deprecated
 * setLogSink();
 * console.log(lines); // [ 'warn on a host' ]
 * ```
 */
export function setLogSink(next: LogSink = consoleSink): void {
  requireFunction(next, 'a log sink');
  sink = next;
  timesLogged.clear();
}

/**
 * Passes a line to the sink. The default sink prints warnings, and other levels if `COLL_LOG`
 * enables them: to standard error, in pages by `console.warn`, `console.info` and `console.debug`.
 * `subject`: what the line is about, for its fields.
 */
export function log(level: LogLevel, message: string, subject?: LogSubject): void {
  sink(level, message, fieldsOf(subject));
}

/** Whether a line of this level would be printed, or passed to a program's own sink. */
export function isLogged(level: LogLevel): boolean {
  if (sink !== consoleSink) return true;
  const wanted = wantedLevel();
  return wanted !== undefined && levels.indexOf(level) >= levels.indexOf(wanted);
}

/**
 * Logs the first `times` messages of a topic. Later ones are dropped, but the console prints them
 * under `COLL_LOG=debug`.
 * @param topic messages of the same topic are counted together
 * @param message the text, or a function that returns it and is called only if the text is logged
 *
 * @example
 * ```ts
 * import { setLogSink } from '@coll/core';
 * import { logFirst } from '@coll/core/plugin';
 *
 * const lines: string[] = [];
 * setLogSink((_, message) => lines.push(message));
 * for (const step of [1, 2, 3]) logFirst(1, 'slow steps', 'warn', `step ${step} is slow`);
 * setLogSink();
 * console.log(lines); // [ 'step 1 is slow' ]
 * ```
 */
export function logFirst(times: number, topic: string, level: LogLevel, message: string | (() => string)): void {
  const before = timesLogged.get(topic) ?? 0;
  if (before >= times) {
    // A program's own sink never receives repetitions, because there may be one per call.
    if (sink === consoleSink && printsRepetitions) consoleSink('debug', textOf(message), fieldsOf());
    return;
  }
  printsRepetitions = environment('COLL_LOG') === 'debug';
  timesLogged.set(topic, before + 1);
  sink(level, textOf(message), fieldsOf());
}

function textOf(message: string | (() => string)): string {
  return typeof message === 'string' ? message : message();
}

/**
 * Warns about a name that exists only for compatibility with TensorFlow, when the name is first
 * used.
 */
export function logDeprecated(name: string, instead: string): void {
  logFirst(1, `deprecated ${name}`, 'warn', `${name} is deprecated; use ${instead} instead`);
}
