import { purposes } from '../collectives/caller-request.js';
import { collectiveKinds, collectiveOps } from '../collectives/collective.js';
import { dtypes } from '../values/dtype.js';

/**
 * The memory of a flight recorder: a header, a table of communicators, a ring of notes and a ring of
 * calls. Numbers are little-endian; texts are UTF-8 and padded with zeros. `fields` are offsets in
 * bytes from the beginning of the header or of an entry. Times are microseconds of the host's
 * monotonic clock as float64, wall-clock times milliseconds since 1970; 0 means that the event has not
 * happened. C++ and readers of files use the same offsets.
 */
export const recordLayout = {
  magic: 'COLLREC1',
  /** Increase it with any change of this layout. */
  version: 2,
  header: {
    bytes: 1024,
    fields: {
      magic: 0,
      version: 8,
      /** Bytes of the whole memory. */
      bytes: 12,
      communicators: 16,
      notes: 20,
      calls: 24,
      pid: 32,
      /** Number of the JavaScript thread in its process, 0 for the main thread. */
      thread: 36,
      /** Number of the thread in the system. */
      systemThread: 40,
      /** One of `recordEnds`. */
      end: 44,
      exitCode: 48,
      /** 1 + the slot of the call that the thread executes at this moment; 0 if it executes none. */
      current: 52,
      /** Number of entries made so far, of each table. An entry is stored at its number modulo the table's length. */
      communicatorsMade: 56,
      notesMade: 60,
      callsMade: 64,
      /** The state of the thread in the system, a letter of `proc_pid_stat(5)`; 0 if unknown. */
      threadState: 68,
      /** The number of the system call that the thread is in; -1 if it is in none or unknown. */
      systemCall: 72,
      /**
       * 1 + the exit code of the process as a shell reports it, if its launcher saw it end before it ended
       * the other processes of the job; else 0.
       */
      endedWith: 76,
      /** When the memory was made, and the same moment as wall-clock time. */
      begun: 80,
      begunWall: 88,
      /** When another thread of the process last saw that the process runs, and the same moment as wall-clock time. */
      alive: 96,
      aliveWall: 104,
      /** When the event loop of the thread last began a turn. */
      loopTurn: 112,
      /** Resident bytes of the process. */
      residentBytes: 120,
      /** Microseconds of CPU time of the thread. */
      cpuTime: 128,
      /** Training steps and samples of the thread so far. */
      steps: 136,
      samples: 144,
      /** Random; equal for all threads of a process. */
      process: 256,
      host: 272,
      program: 400,
      runtime: 528,
      release: 560,
      job: 592,
      threadName: 656,
    },
    texts: { process: 16, host: 128, program: 128, runtime: 32, release: 32, job: 64, threadName: 64 },
  },
  communicator: {
    bytes: 256,
    length: 64,
    fields: {
      /** 1 + the number of the entry. */
      number: 0,
      /** Number of ranks. */
      size: 4,
      /** The rank of this thread; -1 if the thread has the buffers of all ranks. */
      rank: 8,
      /** The same rank in the group that was split; `rank` if the group was not made by a split. */
      wholeRank: 12,
      generation: 16,
      opened: 24,
      closed: 32,
      /** Equal on all ranks of the group, and on no other group. */
      group: 48,
      parent: 96,
      kind: 144,
      engine: 168,
      transport: 192,
      algorithm: 216,
    },
    texts: { group: 48, parent: 48, kind: 24, engine: 24, transport: 24, algorithm: 40 },
  },
  note: {
    bytes: 512,
    length: 64,
    fields: {
      number: 0,
      /** An index of `noteKinds`. */
      kind: 4,
      /** Number of the communicator + 1; 0 if the note is about none. */
      communicator: 8,
      /** The rank that the note is about; -1 if it is about none. */
      rank: 12,
      /** Number of the call in its group; -1 if the note is about none. */
      call: 16,
      time: 24,
      text: 32,
    },
    texts: { text: 480 },
  },
  call: {
    bytes: 64,
    length: 4096,
    fields: {
      /** Number of the communicator + 1. */
      communicator: 0,
      /** Number of the call in its group, counted from 0 on every rank. For messages: in its pair of ranks. */
      number: 4,
      /** Indices of `recordedVerbs`, `collectiveOps` + 1, `dtypes` and `purposes`, a byte each. */
      verb: 8,
      op: 9,
      dtype: 10,
      purpose: 11,
      /** An index of `callStates`. */
      state: 12,
      /** The root of a collective or the peer of a message, as 16 bits; 65535 for none. */
      peer: 14,
      /** 1 + the rank that the call has waited for; 0 if it has not waited, or for an unknown rank. */
      waitedFor: 16,
      /** Bytes of the buffer of one rank. */
      bytes: 24,
      begun: 32,
      /** When the first data of another rank arrived. */
      firstData: 40,
      ended: 48,
      /** Microseconds that the call has waited for other ranks. */
      waited: 56,
    },
  },
} as const;

/** Calls of so many bytes per rank get exact times by native code: `kLargeBytes` of `call_stamp.cc`. */
export const exactBytes = 65_536;

/** How the thread of a recorder has ended. */
export const recordEnds = ['open', 'closed', 'failed'] as const;

/** The states of a recorded call, in the order in which a call goes through them. */
export const callStates = ['none', 'queued', 'running', 'waiting', 'done', 'failed'] as const;

/** What a recorded call does: the kinds of collectives, then messages. */
export const recordedVerbs = [...collectiveKinds, 'send', 'receive'] as const;

/** What a note is about. */
export const noteKinds = [
  'opening',
  'opened',
  'split',
  'closed',
  'refused',
  'stall',
  'resumed',
  'silence',
  'failure',
  'exit',
] as const;

export type CallState = (typeof callStates)[number];
export type NoteKind = (typeof noteKinds)[number];

/** The lists whose indices a recorded call contains, for readers. */
export const recordedNames = { ops: collectiveOps, dtypes, purposes } as const;
