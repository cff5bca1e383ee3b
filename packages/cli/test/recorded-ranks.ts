import type { ProcessState, SeenRecord } from '../src/trace/group-records.js';
import type { Call, Note, RecordedPart, ThreadRecord } from '../src/trace/record-file.js';

/** Microseconds at which the records of tests are read. */
export const now = 100e6;

/** A rank in a group, with what its thread did. Times are seconds. */
export interface RecordedRank {
  readonly rank: number;
  readonly size: number;
  readonly calls?: readonly Partial<Call>[];
  readonly notes?: readonly (Partial<Omit<Note, 'part'>> & Pick<Note, 'kind'>)[];
  readonly part?: Partial<RecordedPart>;
  readonly otherParts?: readonly RecordedPart[];
  readonly record?: Partial<ThreadRecord>;
  readonly process?: ProcessState;
  /** Default: `now` */
  readonly seenUntil?: number;
  readonly offset?: number;
}

/** A record of a rank that runs, and whose event loop turns. */
export function recordedRank(given: RecordedRank): SeenRecord {
  const { rank, size, calls = [], notes = [], otherParts = [], record = {} } = given;
  const part: RecordedPart = {
    ...{ group: 'group', parent: '', size, rank, wholeRank: rank, generation: 0, opened: 1e6, closed: 0 },
    ...{ kind: 'processes', engine: 'native', transport: 'shm', algorithm: 'ring', ...given.part },
  };
  const parts = [...otherParts, part];
  return {
    record: {
      ...{
        file: `${rank}.coll`,
        readAt: now,
        pid: 100 + rank,
        thread: 0,
        process: `p${rank}`,
        host: 'host-a',
        program: 'train.js',
      },
      ...{ runtime: 'Node 22', release: '0.1.0', job: 'job', threadName: 'main' },
      ...{ end: 'open', exitCode: 0, endedWith: undefined },
      ...{ isInCall: false, threadState: 'S', systemCall: 232, begun: 1e6, begunWall: 1e6 },
      ...{ alive: now - 0.5e6, aliveWall: 1e6 + now / 1e3, loopTurn: now - 0.9e6, residentBytes: 1e8, cpuTime: 1e6 },
      ...{ steps: 0, samples: 0, callsMade: calls.length, dropped: 0 },
      parts,
      notes: notes.map((note) => ({
        ...{ part, rank: undefined, call: undefined, time: now - 1e6, text: '', ...note },
      })),
      calls: calls.map((call, index) => callOf(part, index, call)),
      ...record,
    },
    process: given.process ?? 'running',
    offset: given.offset ?? 0,
    seenUntil: given.seenUntil ?? now,
  };
}

function callOf(part: RecordedPart, index: number, call: Partial<Call>): Call {
  const begun = 10e6 + 1e6 * index;
  return {
    ...{ part, number: index, verb: 'all-reduce', op: 'sum', dtype: 'float32', purpose: 'itself', state: 'done' },
    ...{ peer: undefined, waitedFor: undefined, bytes: 16_384, begun, firstData: 0, ended: begun + 1000, waited: 0 },
    ...call,
  };
}

/** Calls that have ended. */
export function done(count: number): Partial<Call>[] {
  return Array.from({ length: count }, () => ({}));
}

/** A call that waits since this many seconds before the records are read. */
export function waiting(seconds: number, call: Partial<Call> = {}): Partial<Call> {
  return { state: 'running', begun: now - 1e6 * seconds, ended: 0, ...call };
}

/** A call that has failed this many seconds before the records are read, after it had waited for `waited` seconds. */
export function failed(seconds: number, waited = 0.1, call: Partial<Call> = {}): Partial<Call> {
  const ended = now - 1e6 * seconds;
  return { state: 'failed', begun: ended - 1e6 * waited, ended, ...call };
}

/** Four ranks. All have made ten calls and wait in the next one, unless `others` says something else. */
export function four(others: Readonly<Record<number, Partial<RecordedRank> | undefined>>): readonly SeenRecord[] {
  return [0, 1, 2, 3].flatMap((rank) => {
    const given = rank in others ? others[rank] : {};
    return given ? [recordedRank({ rank, size: 4, calls: [...done(10), waiting(41)], ...given })] : [];
  });
}

/** A rank whose call has failed because of another one. */
export const peerFailed = (rank: number, seconds = 1) => ({
  calls: [...done(10), failed(seconds)],
  notes: [{ kind: 'failure', rank, text: `ERR_COLL_PEER_FAILED: rank ${rank}`, time: now - 1e6 * seconds }] as const,
});
/** A record that its thread has closed. */
export const exited = (exitCode: number, seconds = 1): Partial<SeenRecord['record']> => ({
  ...{ end: exitCode === 0 ? 'closed' : 'failed', exitCode },
  ...{ alive: now - 1e6 * seconds - 0.4e6, loopTurn: now - 1e6 * seconds },
});
/** A rank whose process ended without closing its record. */
export const gone = (seconds: number, record: Partial<SeenRecord['record']> = {}): Partial<RecordedRank> => ({
  process: 'gone',
  record: { alive: now - 1e6 * seconds, loopTurn: now - 1e6 * seconds - 0.5e6, ...record },
});
/** A rank that makes no further call. */
export const turning = { calls: done(10) };
/** A rank whose event loop does not turn. */
export const busy = (seconds: number) => ({
  calls: done(10),
  record: { loopTurn: now - 1e6 * seconds, threadState: 'R', systemCall: -1 },
});
