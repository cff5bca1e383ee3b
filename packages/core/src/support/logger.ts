import { environment } from './environment.js';
import { quote } from './quote.js';
import { requireFunction } from './requirements.js';

/** Severity of a line. */
export type LogLevel = 'debug' | 'info' | 'warn';

/** Receives every log line, at any level. */
export type LogSink = (level: LogLevel, message: string) => void;

const order: readonly LogLevel[] = ['debug', 'info', 'warn'];

// Prints warnings; COLL_LOG=info also prints info, COLL_LOG=debug also debug lines and repeated
// messages, COLL_LOG=silent nothing.
const consoleSink: LogSink = (level, message) => {
  const wanted = environment('COLL_LOG') || 'warn';
  if (wanted === 'silent') return;
  const isKnown = order.includes(wanted as LogLevel);
  if (!isKnown && wanted !== lastUnknown) {
    lastUnknown = wanted;
    console.error(
      `coll warn: COLL_LOG must be debug, info, warn or silent, got ${quote(wanted)}; printing warnings only`,
    );
  }
  if (order.indexOf(level) < order.indexOf(isKnown ? (wanted as LogLevel) : 'warn')) return;
  console.error(`coll ${level}: ${message}`);
};

// An unknown COLL_LOG is reported once.
let lastUnknown: string | undefined;

let sink: LogSink = consoleSink;
const timesLogged = new Map<string, number>();
// Found when a topic logs a line, since reading the environment costs more than a small collective.
let printsRepetitions = false;

/**
 * Redirects log lines to `next`; without an argument, restores the default, the console's standard
 * error. Also resets the counters of `logFirst`.
 * @param next called with the level and the text of each line. Default: the console
 * @throws ValueError unless `next` is a function
 *
 * @example
 * ```ts
 * import { CollectiveHints, type LogLevel, setLogSink } from '@coll/core';
 *
 * const levels: LogLevel[] = [];
 * setLogSink((level, message) => levels.push(level));
 * new CollectiveHints(); // logs that the name is deprecated
 * setLogSink();
 * console.log(levels); // [ 'warn' ]
 * ```
 */
export function setLogSink(next: LogSink = consoleSink): void {
  requireFunction(next, 'a log sink');
  sink = next;
  timesLogged.clear();
}

/**
 * Passes a line to the sink. The default sink prints warnings to standard error, and other levels
 * if `COLL_LOG` enables them.
 */
export function log(level: LogLevel, message: string): void {
  sink(level, message);
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
    if (sink === consoleSink && printsRepetitions) consoleSink('debug', textOf(message));
    return;
  }
  printsRepetitions = environment('COLL_LOG') === 'debug';
  timesLogged.set(topic, before + 1);
  sink(level, textOf(message));
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
