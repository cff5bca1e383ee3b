import type { CallerRequest } from '../collectives/caller-request.js';
import type { Collective } from '../collectives/collective.js';
import { CollError } from '../support/errors.js';
import { messageOf } from '../support/message-of.js';
import type { DType } from '../values/dtype.js';
import type { NoteKind } from './layout.js';

/** Identifies a group in the records of its ranks. */
export interface GroupIdentity {
  /** Equal on all ranks of the group, and on no other group: at most 48 characters. */
  readonly id: string;
  /** How the ranks of the group run, such as `threads` or `processes`. */
  readonly kind: string;
  readonly engine: string;
  readonly transport: string;
  readonly size: number;
  /** The rank of this thread; -1 if the thread has the buffers of all ranks. */
  readonly rank: number;
  /** For a group made by `split`: this rank in the whole group. Default: `rank` */
  readonly wholeRank?: number | undefined;
  /** For a group made by `split`: the identity of the group that was split. */
  readonly parent?: string | undefined;
  /** Default: 0 */
  readonly generation?: number | undefined;
}

/** A rank's part in a group, for its records. All communicators of the group share it, because they number their calls together. */
export interface RecordedGroup {
  readonly identity: GroupIdentity;
  /** Number of calls that this rank has made in the group. */
  calls: number;
  /** Whether a failure of the group was recorded, which only the first one is. */
  hasFailed: boolean;
  /** For messages of the group, which no communicator makes. */
  readonly messages: RecordedCommunicator;
}

/** A communicator whose calls are recorded. */
export interface RecordedCommunicator {
  readonly group: RecordedGroup;
  /** Name of the algorithm; empty for messages. */
  readonly algorithm: string;
  /**
   * Who reads the clock: the engine, in native code; the recorder, before and after each call; or the
   * recorder, but seldom, for calls that wait for nobody.
   */
  readonly clock: 'engine' | 'exact' | 'coarse';
  /** Number in the recorder, which sets it; 0 before the first call. */
  number: number;
}

/** A prepared call. */
export interface RecordedCall {
  readonly collective: Collective;
  readonly request: CallerRequest | undefined;
  /** Bytes of the buffers of all local ranks. */
  readonly bytes: number;
  readonly inputs: readonly RecordedBuffer[];
  readonly outputs: readonly RecordedBuffer[];
  /** What the call does, as the recorder writes it. Undefined until then. */
  recordedAs?: number | undefined;
  /** The root, as the recorder writes it. Undefined until then. */
  recordedPeer?: number | undefined;
  /** Bytes of the buffer of one rank. Undefined until then. */
  recordedBytes?: number | undefined;
  /** What `begin` has returned for the latest repetition. */
  recordedNumber?: number | undefined;
}

/** Memory that a call reads or writes. */
export interface RecordedBuffer {
  readonly dtype: DType;
  readonly byteLength: number;
}

/** A message between two ranks. */
export interface RecordedMessage {
  readonly verb: 'send' | 'receive';
  readonly peer: number;
  /** Number of the message between the two ranks. */
  readonly number: number;
  readonly dtype: DType;
  readonly bytes: number;
}

/** A group in the records of one of its ranks. */
export function recordedGroup(identity: GroupIdentity): RecordedGroup {
  return new RankInGroup(identity);
}

class RankInGroup implements RecordedGroup {
  readonly identity: GroupIdentity;
  calls = 0;
  hasFailed = false;
  readonly messages: RecordedCommunicator = { group: this, algorithm: '', clock: 'exact', number: 0 };

  constructor(identity: GroupIdentity) {
    this.identity = identity;
  }
}

/** A communicator of a group that runs this algorithm. Undefined if the group is not recorded. */
export function recordedCommunicator(
  { recorded: group }: { readonly recorded?: RecordedGroup | undefined },
  algorithm: string,
  clock: RecordedCommunicator['clock'],
): RecordedCommunicator | undefined {
  return group && { group, algorithm, clock, number: 0 };
}

/** Something that happens apart from calls. */
export interface RecordedNote {
  readonly kind: NoteKind;
  readonly text: string;
  readonly group?: RecordedGroup | undefined;
  /** The rank that the note is about. Default: none */
  readonly rank?: number | undefined;
  /** Number of the call in the group. Default: none */
  readonly call?: number | undefined;
  /** The error of a failure. */
  readonly error?: unknown;
}

/** Records what a thread does. The host of the program sets it; without one, nothing is recorded. */
export interface CallRecorder {
  /** Records a call that begins, or that is queued behind others. Returns a number for `end`. */
  begin(communicator: RecordedCommunicator, call: RecordedCall, isQueued: boolean): number;
  /** Records a message that begins. Returns a number for `end`. */
  message(group: RecordedGroup, message: RecordedMessage): number;
  /** Records that the caller goes on although the call or message has not ended. */
  leave(number: number): void;
  /**
   * Calls `action`, in which native code continues a call that is under way or queued. `number`: of the
   * call, from `begin`. Returns what `action` returns.
   */
  resume<T>(number: number, action: () => T): T;
  /** Records the end of a call or message. `error`: why it is not done. */
  end(number: number, isDone: boolean, error?: unknown): void;
  note(note: RecordedNote): void;
  /** Records the steps and samples of a training so far, for programs that show its progress. */
  progress(steps: number, samples: number): void;
}

/** The recorder of this thread; undefined if it records nothing. */
export let recorder: CallRecorder | undefined;

/** Where the recorder of this thread keeps its record: a folder, or `memory`. Undefined if it keeps none. */
export let recordPlace: string | undefined;

/** Makes `next` the recorder of this thread, which keeps its record in `place`. */
export function setRecorder(next: CallRecorder | undefined, place?: string): void {
  recorder = next;
  recordPlace = place;
}

/** Calls `action` by the `resume` of the recorder, if the thread records the call. */
export function resumed<T>(number: number | undefined, action: () => T): T {
  return recorder && number !== undefined ? recorder.resume(number, action) : action();
}

/** Records the failure of a group, once. */
export function recordFailure(group: RecordedGroup | undefined, error: unknown): void {
  if (!recorder || !group || group.hasFailed) return;
  group.hasFailed = true;
  const { rank } = error instanceof CollError ? error : {};
  recorder.note({ kind: 'failure', text: textOf(error), group, rank, error });
}

/** Records a call that this rank has refused. */
export function recordRefusal(group: RecordedGroup | undefined, error: unknown): void {
  recorder?.note({ kind: 'refused', text: codeOf(error), group, rank: group?.identity.rank });
}

// Messages about different calls may contain names of variables. The calls themselves tell more.
const codesWithNames: readonly string[] = ['ERR_COLL_MISMATCH', 'ERR_COLL_DTYPE_MISMATCH', 'ERR_COLL_SHAPE_MISMATCH'];

/** The message of an error; undefined if it may contain names of variables. */
export function shownMessage(error: unknown): string | undefined {
  return codesWithNames.includes(codeOf(error)) ? undefined : messageOf(error);
}

function textOf(error: unknown): string {
  const message = shownMessage(error);
  return message === undefined ? codeOf(error) : `${codeOf(error)}: ${message}`;
}

/** The code of an error; `error` if it is not an error of coll. */
export function codeOf(error: unknown): string {
  return error instanceof CollError ? error.code : 'error';
}
