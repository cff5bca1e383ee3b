import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import path from 'node:path';
import { setInterval } from 'node:timers';
import { getEnvironmentData, isMainThread, setEnvironmentData, threadId } from 'node:worker_threads';
import {
  type LogLevel,
  log,
  messageOf,
  quote,
  type RecordedThread,
  Recorder,
  recordBytes,
  recorder,
  release,
  setRecorder,
} from '@coll/core/internal';
import { searchBinding } from '../loaded-binding.js';
import type { NativeBinding } from '../native-binding.js';
import { CallPublisher } from './call-publisher.js';
import { cleanRecords, endThreads, removeEndedJob } from './kept-records.js';
import { MemoryRecorder } from './memory-recorder.js';
import { type RecordFolder, recordFolder } from './record-folder.js';
import { recordName } from './stored-record.js';

export interface RecordOptions {
  /** What the thread is, such as `replica 2`. Default: `main`, in other threads `thread` and the number. */
  readonly threadName?: string;
}

const turnMillis = 1000;
let isOpened = false;

/**
 * Publishes the calls of this thread to diagnostics channels, and starts its flight recorder unless
 * `COLL_RECORD` is `off`. The record is a file that is mapped into memory, or memory where that is
 * not possible.
 */
export function openRecord({ threadName = isMainThread ? 'main' : `thread ${threadId}` }: RecordOptions = {}): void {
  if (isOpened) return;
  isOpened = true;
  if (recorder) return;
  const kept = isWanted(process.env['COLL_RECORD']) ? started(threadName) : undefined;
  setRecorder(new CallPublisher(kept?.recorder), kept?.place);
}

/** A recorder, and where it keeps its record: a folder, or `memory`. */
interface Kept {
  readonly recorder: Recorder;
  readonly place: string;
}

/** Undefined if it cannot start. */
function started(threadName: string): Kept | undefined {
  try {
    return start(threadName);
  } catch (error) {
    // A program works without a record.
    report('warn', `the flight recorder has not started: ${messageOf(error)}`);
    return undefined;
  }
}

function isWanted(value: string | undefined): boolean {
  if (value === 'off') return false;
  if (value && value !== 'on') report('warn', `COLL_RECORD must be on or off, got ${quote(value)}; recording calls`);
  return true;
}

function start(threadName: string): Kept {
  const found = searchBinding();
  const binding = 'binding' in found ? found.binding : undefined;
  const thread = recordedThread(binding?.processName ?? sharedName(), threadName);
  const folder = recordFolder();
  if (!('path' in folder)) reportRefusal(folder.refusal, folder.isNamed);
  const mapped = mappedRecorder(binding, folder, thread);
  const own = mapped ?? memoryRecorder(binding, thread);
  setInterval(() => own.turn(), turnMillis).unref();
  process.on('exit', (exitCode) => end(own, 'path' in folder ? folder.path : undefined, thread, exitCode));
  return { recorder: own, place: mapped && 'path' in folder ? folder.path : 'memory' };
}

/** Undefined if the platform cannot map a file, or the folder has no room. */
function mappedRecorder(
  binding: NativeBinding | undefined,
  folder: RecordFolder,
  thread: RecordedThread,
): Recorder | undefined {
  if (!('path' in folder) || !binding?.mapRecord) return undefined;
  const name = recordName(thread.pid, thread.process, thread.thread);
  // The first thread of a process looks for records of processes that have ended.
  if (thread.thread === 0 || !existsSync(mainRecord(folder.path, thread))) cleanRecords(folder.path);
  try {
    return new Recorder(binding.mapRecord(path.join(folder.path, name)), thread);
  } catch (error) {
    reportRefusal(`${folder.path}: ${messageOf(error)}`, Boolean(process.env['COLL_RECORD_DIR']));
    return undefined;
  }
}

function memoryRecorder(binding: NativeBinding | undefined, thread: RecordedThread): Recorder {
  const memory = new SharedArrayBuffer(recordBytes);
  binding?.attachRecord?.(new Int32Array(memory));
  return new MemoryRecorder(memory, thread);
}

function end(own: Recorder, folder: string | undefined, thread: RecordedThread, exitCode: number): void {
  own.close(exitCode);
  if (folder === undefined) return;
  try {
    if (isMainThread) endThreads(folder, thread.process);
    else if (existsSync(mainRecord(folder, thread))) return;
    if (exitCode === 0) removeEndedJob(folder, thread.process);
  } catch (error) {
    log('info', `flight recorder: cannot remove the records of this job: ${messageOf(error)}`);
  }
}

const mainRecord = (folder: string, { pid, process }: RecordedThread) => path.join(folder, recordName(pid, process, 0));

function recordedThread(name: string, threadName: string): RecordedThread {
  const { argv, env, pid, versions } = process;
  const { bun, deno } = versions as { readonly bun?: string; readonly deno?: string };
  const runtime = bun ? `Bun ${bun}` : deno ? `Deno ${deno}` : `Node ${versions.node}`;
  return {
    pid,
    thread: threadId,
    process: name,
    host: hostname(),
    // Without arguments, which may be secrets.
    program: path.basename(argv[1] ?? process.execPath),
    runtime,
    release,
    job: env['COLL_JOB'] ?? '',
    threadName,
    clockOrigin: clockOrigin(),
  };
}

const looks = 8;

/** If the system interrupts the thread between two looks at its clocks, the result is too small by that time. */
function clockOrigin(): number {
  const origin = () => Number(process.hrtime.bigint()) / 1000 - performance.now() * 1000;
  return Math.max(...Array.from({ length: looks }, origin));
}

/** A name for this process that threads which it starts later inherit, where native code knows none. */
function sharedName(): string {
  const key = 'coll process name';
  const known = getEnvironmentData(key);
  if (typeof known === 'string') return known;
  const digits = crypto.randomUUID().replaceAll('-', '').slice(0, 16);
  setEnvironmentData(key, digits);
  return digits;
}

function reportRefusal(refusal: string, isNamed: boolean): void {
  const named = isNamed ? 'COLL_RECORD_DIR cannot be used: ' : '';
  report(
    isNamed ? 'warn' : 'info',
    `flight recorder: ${named}${refusal}; recording in memory, which is lost if the process is killed`,
  );
}

/** Logs in the main thread only, because all threads of a process have the same problem. */
function report(level: LogLevel, message: string): void {
  log(isMainThread ? level : 'debug', message);
}
