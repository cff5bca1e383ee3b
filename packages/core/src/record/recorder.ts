import { purposes } from '../collectives/caller-request.js';
import { collectiveKinds, collectiveOps, opOf, rootOf } from '../collectives/collective.js';
import { dtypes } from '../values/dtype.js';
import { exactBytes, noteKinds, recordEnds, recordedVerbs, recordLayout } from './layout.js';
import type {
  CallRecorder,
  GroupIdentity,
  RecordedCall,
  RecordedCommunicator,
  RecordedGroup,
  RecordedMessage,
  RecordedNote,
} from './recorder-hook.js';

const { header, communicator: communicatorTable, note: noteTable, call: callTable } = recordLayout;
/** Where the tables begin, in bytes. */
const communicatorBegin = header.bytes;
const noteBegin = communicatorBegin + communicatorTable.bytes * communicatorTable.length;
const callBegin = noteBegin + noteTable.bytes * noteTable.length;

/** Bytes of the memory of a recorder. */
export const recordBytes = callBegin + callTable.bytes * callTable.length;

// Constants, so that writing an entry needs no arithmetic.
const headerWords = {
  version: header.fields.version >> 2,
  bytes: header.fields.bytes >> 2,
  communicators: header.fields.communicators >> 2,
  notes: header.fields.notes >> 2,
  calls: header.fields.calls >> 2,
  pid: header.fields.pid >> 2,
  thread: header.fields.thread >> 2,
  end: header.fields.end >> 2,
  exitCode: header.fields.exitCode >> 2,
  communicatorsMade: header.fields.communicatorsMade >> 2,
  notesMade: header.fields.notesMade >> 2,
  systemCall: header.fields.systemCall >> 2,
} as const;
const headerNumbers = {
  begun: header.fields.begun >> 3,
  begunWall: header.fields.begunWall >> 3,
  loopTurn: header.fields.loopTurn >> 3,
  steps: header.fields.steps >> 3,
  samples: header.fields.samples >> 3,
} as const;

// V8 reads a named constant of a module from memory each time, which doubles the time of an entry. What writes calls
// therefore has the offsets of `recordLayout` as numbers:
// - words of an entry: 0 communicator; 1 number; 2 verb, op, dtype and purpose; 3 state and peer; 4 waitedFor;
// - float64 numbers of an entry: 3 bytes; 4 begun; 5 firstData; 6 ended; 7 waited;
// - words of the header: 13 current; 16 callsMade.
// An entry has 16 words, the first of 4,096 entries begins at word 12,544, and its state is byte 12. The states are
// 1 queued, 2 running, 4 done and 5 failed.

const encoder = new TextEncoder();
const noPeer = 0xffff;
/** Calls between two looks at the clock, for communicators that seldom look at it: a power of two. */
const callsPerLook = 64;

/** The thread whose calls a recorder keeps, and its process. */
export interface RecordedThread {
  readonly pid: number;
  readonly thread: number;
  /** Random; equal for all threads of a process: at most 16 characters. */
  readonly process: string;
  readonly host: string;
  readonly program: string;
  readonly runtime: string;
  readonly release: string;
  readonly job: string;
  readonly threadName: string;
  /** Microseconds of the host's monotonic clock at the time 0 of `performance.now()`. */
  readonly clockOrigin: number;
}

/**
 * A flight recorder: keeps the latest calls of one thread in memory of a fixed layout, which may be a
 * mapped file that outlives the process. Recording allocates nothing.
 */
export class Recorder implements CallRecorder {
  readonly #words: Int32Array;
  readonly #numbers: Float64Array;
  readonly #bytes: Uint8Array;
  readonly #origin: number;
  #calls = 0;
  /** The call under way if the recorder seldom looks at the clock for it; 0 if there is none. */
  #seldomTimed = 0;
  /** The communicator of the latest call, whose entry has kept its place since. */
  #latest: RecordedCommunicator | undefined;
  #looked = 0;
  #looks = 0;

  /** @param memory `recordBytes` bytes, filled with zeros */
  constructor(memory: ArrayBufferLike, thread: RecordedThread) {
    this.#words = new Int32Array(memory);
    this.#numbers = new Float64Array(memory);
    this.#bytes = new Uint8Array(memory);
    this.#origin = thread.clockOrigin;
    const { fields, texts } = header;
    const words = this.#words;
    words[headerWords.version] = recordLayout.version;
    words[headerWords.bytes] = recordBytes;
    words[headerWords.communicators] = communicatorTable.length;
    words[headerWords.notes] = noteTable.length;
    words[headerWords.calls] = callTable.length;
    words[headerWords.pid] = thread.pid;
    words[headerWords.thread] = thread.thread;
    words[headerWords.systemCall] = -1;
    this.#numbers[headerNumbers.begun] = this.#now();
    this.#numbers[headerNumbers.begunWall] = Date.now();
    this.turn();
    for (const [name, bytes] of Object.entries(texts) as [keyof typeof texts, number][])
      this.#write(fields[name], bytes, thread[name]);
    // Last, so that a file without it is known to be unfinished.
    this.#write(fields.magic, 8, recordLayout.magic);
  }

  begin(communicator: RecordedCommunicator, call: RecordedCall, isQueued: boolean): number {
    const { group, clock } = communicator;
    const code = call.recordedAs ?? describe(call, group.identity);
    const peer = call.recordedPeer as number;
    const number = this.#begin(communicator, group.calls++, code);
    const slot = (number - 1) & 4095;
    const at = 12_544 + slot * 16;
    const half = at >> 1;
    const words = this.#words;
    const numbers = this.#numbers;
    numbers[half + 3] = call.recordedBytes as number;
    if (isQueued || clock === 'exact') numbers[half + 4] = this.#now();
    else if (clock === 'coarse') {
      numbers[half + 4] = this.#coarse();
      this.#seldomTimed = number;
    } else {
      // Native code writes the time.
      numbers[half + 4] = 0;
      words[13] = 1 + slot;
    }
    words[at + 3] = (isQueued ? 1 : 2) | (peer << 16);
    call.recordedNumber = number;
    return number;
  }

  message(group: RecordedGroup, { verb, peer, number, dtype, bytes }: RecordedMessage): number {
    const code = recordedVerbs.indexOf(verb) | (dtypes.indexOf(dtype) << 16);
    const made = this.#begin(group.messages, number, code);
    const at = this.#callAt(made);
    this.#numbers[(at >> 1) + 3] = bytes;
    this.#numbers[(at >> 1) + 4] = this.#now();
    this.#words[at + 3] = 2 | (peer << 16);
    return made;
  }

  leave(): void {
    this.#seldomTimed = 0;
    const words = this.#words;
    const current = words[13] as number;
    if (current === 0) return;
    words[13] = 0;
    const numbers = this.#numbers;
    const half = (12_544 + (current - 1) * 16) >> 1;
    const begun = half + 4;
    // Native code writes the exact time of large calls and of waits, for others the latest tick of the
    // system, which may be milliseconds before the call. If there is no native code, it is 0.
    const isExact = (numbers[half + 3] as number) >= exactBytes || numbers[half + 7] !== 0;
    if (!isExact || numbers[begun] === 0) numbers[begun] = this.#now();
  }

  resume<T>(number: number, action: () => T): T {
    const words = this.#words;
    const before = words[13] as number;
    words[13] = this.#isKept(number) ? 1 + ((number - 1) & 4095) : 0;
    try {
      return action();
    } finally {
      words[13] = before;
    }
  }

  end(number: number, isDone: boolean): void {
    const numbers = this.#numbers;
    if (number !== 0 && number === this.#seldomTimed) {
      const at = this.#callAt(number);
      numbers[(at >> 1) + 6] = this.#looked;
      this.#bytes[4 * at + 12] = isDone ? 4 : 5;
      return;
    }
    this.#words[13] = 0;
    if (!this.#isKept(number)) return;
    const at = this.#callAt(number);
    const half = at >> 1;
    this.#bytes[4 * at + 12] = isDone ? 4 : 5;
    if (numbers[half + 6] === 0) numbers[half + 6] = this.#now();
    if (numbers[half + 4] === 0) numbers[half + 4] = numbers[half + 6] as number;
  }

  note({ kind, text, group, rank = -1, call = -1 }: RecordedNote): void {
    const { fields, texts, bytes, length } = noteTable;
    const words = this.#words;
    const made = (words[headerWords.notesMade] as number) + 1;
    const begin = noteBegin + ((made - 1) % length) * bytes;
    this.#bytes.fill(0, begin, begin + bytes);
    const at = begin >> 2;
    words[at + (fields.kind >> 2)] = noteKinds.indexOf(kind);
    words[at + (fields.communicator >> 2)] = group ? this.#numberOf(group.messages) : 0;
    words[at + (fields.rank >> 2)] = rank;
    words[at + (fields.call >> 2)] = call;
    this.#numbers[(begin + fields.time) >> 3] = this.#now();
    this.#write(begin + fields.text, texts.text, text);
    words[at] = made;
    words[headerWords.notesMade] = made;
    if (kind === 'closed' && group) this.#close(group);
  }

  /** Records that the event loop begins a turn. To be called about once a second. */
  turn(): void {
    this.#numbers[headerNumbers.loopTurn] = this.#now();
  }

  /** Records the progress of a training, for programs that show it. */
  progress(steps: number, samples: number): void {
    this.#numbers[headerNumbers.steps] = steps;
    this.#numbers[headerNumbers.samples] = samples;
  }

  /** Records that the thread ends. `exitCode`: 0 if it ends well. */
  close(exitCode: number): void {
    this.#words[headerWords.exitCode] = exitCode;
    this.#words[headerWords.end] = recordEnds.indexOf(exitCode === 0 ? 'closed' : 'failed');
    this.turn();
  }

  /** Writes an entry of a call that begins, but not its beginning and its state. Returns its number. */
  #begin(communicator: RecordedCommunicator, number: number, code: number): number {
    const words = this.#words;
    const numbers = this.#numbers;
    const entry = communicator === this.#latest ? communicator.number : this.#numberOf(communicator);
    const made = ++this.#calls;
    const at = this.#callAt(made);
    words[at + 3] = 0;
    words[at] = entry;
    words[at + 1] = number;
    words[at + 2] = code;
    words[at + 4] = 0;
    const half = at >> 1;
    numbers[half + 5] = 0;
    numbers[half + 6] = 0;
    numbers[half + 7] = 0;
    words[16] = made;
    return made;
  }

  /** Whether a call is recorded, and no later call has taken its place. */
  #isKept(number: number): boolean {
    return number !== 0 && this.#calls - number <= 4095;
  }

  /** Index of the first word of a call. */
  #callAt(number: number): number {
    return 12_544 + ((number - 1) & 4095) * 16;
  }

  /** The number of a communicator in the table, which gets a new entry if others have taken its place. */
  #numberOf(communicator: RecordedCommunicator): number {
    this.#latest = communicator;
    const { number } = communicator;
    if (number !== 0 && this.#words[wordOfCommunicator(number)] === number) return number;
    return this.#add(communicator);
  }

  #add(communicator: RecordedCommunicator): number {
    const { fields, texts, bytes } = communicatorTable;
    const { identity } = communicator.group;
    const words = this.#words;
    const number = (words[headerWords.communicatorsMade] as number) + 1;
    const at = wordOfCommunicator(number);
    const begin = 4 * at;
    this.#bytes.fill(0, begin, begin + bytes);
    words[at + (fields.size >> 2)] = identity.size;
    words[at + (fields.rank >> 2)] = identity.rank;
    words[at + (fields.wholeRank >> 2)] = identity.wholeRank ?? identity.rank;
    words[at + (fields.generation >> 2)] = identity.generation ?? 0;
    this.#numbers[(begin + fields.opened) >> 3] = this.#now();
    const { id, parent = '', kind, engine, transport } = identity;
    const values = { group: id, parent, kind, engine, transport, algorithm: communicator.algorithm };
    for (const [name, most] of Object.entries(texts) as [keyof typeof texts, number][])
      this.#write(begin + fields[name], most, values[name]);
    words[at] = number;
    words[headerWords.communicatorsMade] = number;
    communicator.number = number;
    return number;
  }

  /** Records that a group is closed, for all its communicators. */
  #close({ identity }: RecordedGroup): void {
    const { fields, bytes, texts, length } = communicatorTable;
    const id = encoder.encode(identity.id).subarray(0, texts.group);
    for (let entry = 0; entry < length; entry++) {
      const begin = communicatorBegin + entry * bytes;
      const at = begin + fields.group;
      const isOfGroup = id.every((byte, index) => this.#bytes[at + index] === byte);
      if (isOfGroup && this.#words[begin >> 2] !== 0) this.#numbers[(begin + fields.closed) >> 3] = this.#now();
    }
  }

  #write(at: number, most: number, text: string): void {
    encoder.encodeInto(text, this.#bytes.subarray(at, at + most));
  }

  /** Microseconds of the host's monotonic clock. */
  #now(): number {
    this.#looked = this.#origin + 1000 * performance.now();
    return this.#looked;
  }

  /** The latest look at the clock, renewed every now and then. */
  #coarse(): number {
    return (++this.#looks & (callsPerLook - 1)) === 0 ? this.#now() : this.#looked;
  }
}

/** Prepares what all repetitions of a call have in common. Returns what the call does. */
function describe(call: RecordedCall, { rank, size }: GroupIdentity): number {
  const code = codeOf(call);
  call.recordedAs = code;
  call.recordedPeer = rootOf(call.collective) ?? noPeer;
  call.recordedBytes = rank < 0 ? call.bytes / size : call.bytes;
  return code;
}

/** What a call does, as the four bytes of its entry. */
function codeOf({ collective, request, inputs, outputs }: RecordedCall): number {
  const asked = request?.collective ?? collective;
  const op = opOf(asked);
  const dtype = request?.dtype ?? (inputs[0] ?? outputs[0])?.dtype;
  const numbers = [
    collectiveKinds.indexOf(asked.kind),
    op === undefined ? 0 : collectiveOps.indexOf(op) + 1,
    dtype === undefined ? 0 : dtypes.indexOf(dtype),
    purposes.indexOf(request?.purpose ?? 'itself'),
  ] as const;
  return numbers[0] | (numbers[1] << 8) | (numbers[2] << 16) | (numbers[3] << 24);
}

function wordOfCommunicator(number: number): number {
  return (communicatorBegin + ((number - 1) % communicatorTable.length) * communicatorTable.bytes) >> 2;
}
