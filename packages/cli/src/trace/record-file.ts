import type { CollectiveOp, DType } from '@coll/core';
import {
  type CallState,
  callStates,
  type NoteKind,
  noteKinds,
  recordBytes,
  recordEnds,
  recordedNames,
  recordedVerbs,
  recordLayout,
} from '@coll/core/internal';

/** A rank's part in a group, as recorded by the thread of the rank. */
export interface RecordedPart {
  readonly group: string;
  /** The group that was split; empty if the group was not made by a split. */
  readonly parent: string;
  readonly size: number;
  /** -1 if the thread has the buffers of all ranks. */
  readonly rank: number;
  readonly wholeRank: number;
  readonly generation: number;
  readonly opened: number;
  /** 0 if the group is open. */
  readonly closed: number;
  readonly kind: string;
  readonly engine: string;
  readonly transport: string;
  readonly algorithm: string;
}

/** A recorded collective or message. Times are microseconds of the host's monotonic clock, 0 if unknown. */
export interface Call {
  readonly part: RecordedPart;
  /** Number of the call in its group; for messages, in the pair of ranks. */
  readonly number: number;
  readonly verb: (typeof recordedVerbs)[number];
  readonly op: CollectiveOp | undefined;
  readonly dtype: DType;
  readonly purpose: (typeof recordedNames.purposes)[number];
  readonly state: CallState;
  /** The root of a collective or the peer of a message; undefined if there is none. */
  readonly peer: number | undefined;
  /** The rank that the call has waited for; undefined if unknown. */
  readonly waitedFor: number | undefined;
  readonly bytes: number;
  readonly begun: number;
  readonly firstData: number;
  readonly ended: number;
  /** Microseconds. */
  readonly waited: number;
}

export interface Note {
  readonly kind: NoteKind;
  readonly part: RecordedPart | undefined;
  readonly rank: number | undefined;
  readonly call: number | undefined;
  readonly time: number;
  readonly text: string;
}

/** The record of one JavaScript thread. Times are microseconds of the host's monotonic clock, 0 if unknown. */
export interface ThreadRecord {
  readonly file: string;
  /** When the record was read, by the monotonic clock of the reader's host. */
  readonly readAt: number;
  readonly pid: number;
  readonly thread: number;
  /** Equal for all threads of a process. */
  readonly process: string;
  readonly host: string;
  readonly program: string;
  readonly runtime: string;
  readonly release: string;
  readonly job: string;
  readonly threadName: string;
  readonly end: (typeof recordEnds)[number];
  readonly exitCode: number;
  /**
   * The exit code of the process as a shell reports it, if its launcher saw it end before it ended the
   * others; else undefined.
   */
  readonly endedWith: number | undefined;
  /** Whether the thread was inside the engine. */
  readonly isInCall: boolean;
  /** A letter of `proc_pid_stat(5)`; empty if unknown. */
  readonly threadState: string;
  /** -1 if the thread was in none, or if unknown. */
  readonly systemCall: number;
  readonly begun: number;
  /** Milliseconds since 1970. */
  readonly begunWall: number;
  readonly alive: number;
  /** Milliseconds since 1970. */
  readonly aliveWall: number;
  readonly loopTurn: number;
  readonly residentBytes: number;
  /** Microseconds. */
  readonly cpuTime: number;
  readonly steps: number;
  readonly samples: number;
  readonly parts: readonly RecordedPart[];
  readonly notes: readonly Note[];
  /** The latest calls, oldest first. */
  readonly calls: readonly Call[];
  /** Number of calls since the thread began, of which `calls` are the latest. */
  readonly callsMade: number;
  /** Number of entries that cannot be used: they were being written, or are damaged. */
  readonly dropped: number;
}

const { header, communicator: partTable, note: noteTable, call: callTable } = recordLayout;
const partBegin = header.bytes;
const noteBegin = partBegin + partTable.bytes * partTable.length;
const callBegin = noteBegin + noteTable.bytes * noteTable.length;
const mostRanks = 2 ** 16;

/** How to read a record. */
export interface ReadingOptions {
  readonly file: string;
  /** Microseconds of the monotonic clock of this host. */
  readonly readAt: number;
  /** Number of the latest calls to read. Default: all */
  readonly mostCalls?: number | undefined;
  /** The header as it was after `bytes` had been read, if the thread may have been running meanwhile. */
  readonly headerAfter?: Uint8Array | undefined;
}

/** Parses a record. Returns why it cannot be used if it is not one. Bytes may be anything. */
export function parseRecord(bytes: Uint8Array, options: ReadingOptions): ThreadRecord | string {
  const refusal = refusalOf(bytes);
  return refusal ?? new RecordReader(bytes, options).record();
}

function refusalOf(bytes: Uint8Array): string | undefined {
  const { fields } = header;
  if (bytes.length < header.bytes) return `not a record: it has ${bytes.length} bytes`;
  const view = viewOf(bytes);
  const magic = textAt(bytes, fields.magic, 8);
  if (magic === '') return 'the record is unfinished: its thread has just begun, or ended before it had begun';
  if (magic !== recordLayout.magic) return 'not a record: it does not begin with COLLREC1';
  const version = view.getUint32(fields.version, true);
  if (version !== recordLayout.version)
    return `its layout has version ${version}, but this coll reads version ${recordLayout.version}`;
  const sizes = [fields.bytes, fields.communicators, fields.notes, fields.calls].map((at) => view.getUint32(at, true));
  const expected = [recordBytes, partTable.length, noteTable.length, callTable.length];
  if (sizes.some((size, index) => size !== expected[index])) return 'damaged: its header has sizes of another layout';
  return bytes.length < recordBytes ? `truncated: it has ${bytes.length} of ${recordBytes} bytes` : undefined;
}

class RecordReader {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #options: ReadingOptions;
  #dropped = 0;

  constructor(bytes: Uint8Array, options: ReadingOptions) {
    this.#bytes = bytes;
    this.#view = viewOf(bytes);
    this.#options = options;
  }

  record(): ThreadRecord {
    const { fields } = header;
    const parts = this.#parts();
    const notes = this.#notes(parts);
    const calls = this.#calls(parts);
    const state = String.fromCharCode(this.#bytes[fields.threadState] as number);
    return {
      file: this.#options.file,
      readAt: this.#options.readAt,
      pid: this.#word(fields.pid),
      thread: this.#word(fields.thread),
      ...this.#headerTexts(),
      end: recordEnds[this.#word(fields.end)] ?? 'open',
      exitCode: this.#word(fields.exitCode),
      endedWith: this.#endedWith(),
      isInCall: this.#word(fields.current) !== 0,
      threadState: /[A-Za-z]/.test(state) ? state : '',
      systemCall: this.#word(fields.systemCall),
      begun: this.#number(fields.begun),
      begunWall: this.#number(fields.begunWall),
      alive: this.#number(fields.alive),
      aliveWall: this.#number(fields.aliveWall),
      loopTurn: this.#number(fields.loopTurn),
      residentBytes: this.#number(fields.residentBytes),
      cpuTime: this.#number(fields.cpuTime),
      steps: this.#number(fields.steps),
      samples: this.#number(fields.samples),
      parts: [...parts.values()],
      notes,
      calls,
      callsMade: this.#word(fields.callsMade) >>> 0,
      dropped: this.#dropped,
    };
  }

  #endedWith(): number | undefined {
    const value = this.#word(header.fields.endedWith);
    return value >= 1 && value <= 256 ? value - 1 : undefined;
  }

  #headerTexts() {
    const { fields, texts } = header;
    const text = (name: keyof typeof texts) => textAt(this.#bytes, fields[name], texts[name]);
    const [process, host, program, runtime] = [text('process'), text('host'), text('program'), text('runtime')];
    return {
      ...{ process, host, program, runtime },
      ...{ release: text('release'), job: text('job'), threadName: text('threadName') },
    };
  }

  #parts(): ReadonlyMap<number, RecordedPart> {
    const parts = new Map<number, RecordedPart>();
    const made = this.#word(header.fields.communicatorsMade) >>> 0;
    for (const number of latest(made, partTable.length)) {
      const at = partBegin + ((number - 1) % partTable.length) * partTable.bytes;
      const part = this.#word(at) >>> 0 === number ? this.#part(at) : undefined;
      if (part) parts.set(number, part);
      else this.#dropped++;
    }
    return parts;
  }

  #part(at: number): RecordedPart | undefined {
    const { fields, texts } = partTable;
    const [size, rank] = [this.#word(at + fields.size), this.#word(at + fields.rank)];
    const wholeRank = this.#word(at + fields.wholeRank);
    if (size < 1 || size > mostRanks || rank < -1 || rank >= size || wholeRank < -1 || wholeRank >= mostRanks) return;
    const text = (name: keyof typeof texts) => textAt(this.#bytes, at + fields[name], texts[name]);
    return {
      ...{ group: text('group'), parent: text('parent'), size, rank, wholeRank },
      generation: this.#word(at + fields.generation),
      opened: this.#number(at + fields.opened),
      closed: this.#number(at + fields.closed),
      ...{ kind: text('kind'), engine: text('engine'), transport: text('transport'), algorithm: text('algorithm') },
    };
  }

  #notes(parts: ReadonlyMap<number, RecordedPart>): readonly Note[] {
    const { fields, texts, length, bytes } = noteTable;
    const notes: Note[] = [];
    for (const number of latest(this.#word(header.fields.notesMade) >>> 0, length)) {
      const at = noteBegin + ((number - 1) % length) * bytes;
      const kind = noteKinds[this.#word(at + fields.kind)];
      if (this.#word(at) >>> 0 !== number || kind === undefined) {
        this.#dropped++;
        continue;
      }
      const [rank, call] = [this.#word(at + fields.rank), this.#word(at + fields.call)];
      notes.push({
        kind,
        part: parts.get(this.#word(at + fields.communicator) >>> 0),
        rank: rank >= 0 && rank < mostRanks ? rank : undefined,
        call: call >= 0 ? call : undefined,
        time: this.#number(at + fields.time),
        text: textAt(this.#bytes, at + fields.text, texts.text),
      });
    }
    return notes;
  }

  #calls(parts: ReadonlyMap<number, RecordedPart>): readonly Call[] {
    const { headerAfter, mostCalls = callTable.length } = this.#options;
    const made = this.#word(header.fields.callsMade) >>> 0;
    const after = headerAfter ? viewOf(headerAfter).getUint32(header.fields.callsMade, true) : made;
    // Later calls have taken the places of the oldest ones, and one more may have begun to do so.
    const oldest = after + 2 - callTable.length;
    const calls: Call[] = [];
    for (const number of latest(made, Math.min(mostCalls, callTable.length))) {
      if (number < oldest) continue;
      const call = this.#call(callBegin + ((number - 1) % callTable.length) * callTable.bytes, parts);
      if (call) calls.push(call);
      else this.#dropped++;
    }
    return calls;
  }

  #call(at: number, parts: ReadonlyMap<number, RecordedPart>): Call | undefined {
    const { fields } = callTable;
    const bytes = this.#bytes;
    const view = this.#view;
    const part = parts.get(view.getUint32(at + fields.communicator, true));
    const state = callStates[bytes[at + fields.state] as number];
    const verb = recordedVerbs[bytes[at + fields.verb] as number];
    const dtype = recordedNames.dtypes[bytes[at + fields.dtype] as number];
    const purpose = recordedNames.purposes[bytes[at + fields.purpose] as number];
    const op = bytes[at + fields.op] as number;
    if (!part || !state || state === 'none' || !verb || !dtype || !purpose || op > recordedNames.ops.length) return;
    const size = view.getFloat64(at + fields.bytes, true);
    const begun = view.getFloat64(at + fields.begun, true);
    const firstData = view.getFloat64(at + fields.firstData, true);
    const ended = view.getFloat64(at + fields.ended, true);
    const waited = view.getFloat64(at + fields.waited, true);
    if (!isAmount(size) || !isAmount(begun) || !isAmount(firstData) || !isAmount(ended) || !isAmount(waited)) return;
    const peer = view.getUint16(at + fields.peer, true);
    const waitedFor = view.getInt32(at + fields.waitedFor, true);
    // No spreading: there may be a million calls.
    return {
      part,
      number: view.getUint32(at + fields.number, true),
      verb,
      op: recordedNames.ops[op - 1],
      dtype,
      purpose,
      state,
      peer: peer === 0xffff ? undefined : peer,
      waitedFor: waitedFor > 0 && waitedFor <= mostRanks ? waitedFor - 1 : undefined,
      bytes: size,
      begun,
      firstData,
      ended: ended === 0 ? 0 : Math.max(begun, ended),
      waited,
    };
  }

  #word(at: number): number {
    return this.#view.getInt32(at, true);
  }

  /** An amount or a time; 0 if it is out of range. */
  #number(at: number): number {
    const value = this.#view.getFloat64(at, true);
    return isAmount(value) ? value : 0;
  }
}

function isAmount(value: number): boolean {
  return value >= 0 && value <= Number.MAX_SAFE_INTEGER;
}

/** The numbers of the latest entries of a table, oldest first. Entries are counted from 1. */
function latest(made: number, length: number): readonly number[] {
  const kept = Math.min(made, length);
  return Array.from({ length: kept }, (_, index) => made - kept + 1 + index);
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

const decoder = new TextDecoder();

/** A text up to its padding, without characters that could control a terminal. */
function textAt(bytes: Uint8Array, at: number, most: number): string {
  const field = bytes.subarray(at, at + most);
  const end = field.indexOf(0);
  const text = decoder.decode(end < 0 ? field : field.subarray(0, end));
  return text.replace(/\s+/gu, ' ').replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '\uFFFD');
}
