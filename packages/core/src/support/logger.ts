import { requireFunction } from './requirements.js';

/** How much a line matters. */
export type LogLevel = 'debug' | 'info' | 'warn';

/** Takes a log line; called with every line, whatever its level. */
export type LogSink = (level: LogLevel, message: string) => void;

const order: readonly LogLevel[] = ['debug', 'info', 'warn'];

// Warnings always; COLL_LOG=info shows more, COLL_LOG=debug repeats too, COLL_LOG=silent nothing.
const consoleSink: LogSink = (level, message) => {
  const wanted = environment('COLL_LOG') ?? 'warn';
  if (wanted === 'silent' || order.indexOf(level) < order.indexOf(wanted as LogLevel)) return;
  console.error(`coll ${level}: ${message}`);
};

// Core also runs where there is no process.
function environment(name: string): string | undefined {
  const host = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return host.process?.env?.[name];
}

let sink: LogSink = consoleSink;
const timesLogged = new Map<string, number>();

/** Sends log lines elsewhere; without an argument, back to the console's standard error. */
export function setLogSink(next: LogSink = consoleSink): void {
  requireFunction(next, 'a log sink');
  sink = next;
  timesLogged.clear();
}

/** Hands a line to the sink, which by default prints warnings to standard error; `COLL_LOG` says what else it prints. */
export function log(level: LogLevel, message: string): void {
  sink(level, message);
}

/** Logs the first `times` messages of a topic and drops the rest, which only the console shows under `COLL_LOG=debug`. */
export function logFirst(times: number, topic: string, level: LogLevel, message: string): void {
  const before = timesLogged.get(topic) ?? 0;
  if (before >= times) {
    // Programs with a sink of their own did not ask for a line per call.
    if (sink === consoleSink) consoleSink('debug', message);
    return;
  }
  timesLogged.set(topic, before + 1);
  sink(level, message);
}

/** Warns, the first time that it is used, of a name that is only kept for programs written for TensorFlow. */
export function logDeprecated(name: string, instead: string): void {
  logFirst(1, `deprecated ${name}`, 'warn', `${name} is deprecated; use ${instead} instead`);
}
