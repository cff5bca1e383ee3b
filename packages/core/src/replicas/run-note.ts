import { log } from '../support/logger.js';

/** A line that a replica wants to be logged once at the end of its run, if other replicas want the same. */
export interface RunNote {
  /** What the line is about. Nothing is logged if replicas have notes about different things. */
  readonly about: string;
  readonly line: string;
}

const silent = 'silent';

// By the context of the replica, until the end of the run.
const notes = new WeakMap<object, RunNote | typeof silent>();

/** Leaves a note in the present run of a replica, unless there is one or it was silenced. */
export function leaveRunNote(replica: object, note: () => RunNote): void {
  if (!notes.has(replica)) notes.set(replica, note());
}

/**
 * Removes the note of the present run of a replica. Notes that are left later are ignored. Returns
 * whether this was the first call in this run.
 */
export function silenceRunNote(replica: object): boolean {
  if (notes.get(replica) === silent) return false;
  notes.set(replica, silent);
  return true;
}

// By the context of the replica, which may have several runs.
const runs = new WeakMap<object, object>();

/** The identity of a replica's present run, as a key for what must not outlive the run. */
export function runOf(replica: object): object {
  const known = runs.get(replica) ?? {};
  runs.set(replica, known);
  return known;
}

/** The note of a run that has ended. The next run begins without one. */
export function takeRunNote(replica: object): RunNote | undefined {
  runs.delete(replica);
  const note = notes.get(replica);
  notes.delete(replica);
  return note === silent ? undefined : note;
}

/**
 * Logs the line of a run that has ended if at least two replicas have notes, all about the same.
 * Of several processes, the one with replica 0 logs. A process with a single replica does not see
 * the notes of the others, so there that of replica 1 counts for all: replica 0 may have work of its
 * own.
 * @param ofReplicas the notes of this process's replicas
 */
export function logRunNotes(ofReplicas: readonly (RunNote | undefined)[], firstReplica: number): void {
  const left = ofReplicas.filter((note) => note !== undefined);
  const [note] = left;
  const isShared = ofReplicas.length === 1 ? firstReplica === 1 : firstReplica === 0 && left.length > 1;
  if (note && isShared && left.every(({ about }) => about === note.about)) log('warn', note.line);
}
