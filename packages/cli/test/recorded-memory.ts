import {
  type GroupIdentity,
  type RecordedThread,
  Recorder,
  recordBytes,
  recordedCommunicator,
  recordedGroup,
  recordLayout,
} from '@coll/core/internal';

const { header } = recordLayout;

/** What a thread does before its record is read. */
export interface MadeRecord {
  readonly thread?: Partial<RecordedThread>;
  readonly identity?: Partial<GroupIdentity>;
  /** Collectives that end. */
  readonly calls?: number;
  /** Whether the thread then begins one more. */
  readonly isWaiting?: boolean;
  readonly act?: (recorder: Recorder) => void;
}

/** The memory of a recorder of a thread that has made calls in a group of two ranks. */
export function recordedMemory({ thread, identity, calls = 3, isWaiting = false, act }: MadeRecord = {}): Uint8Array {
  const memory = new ArrayBuffer(recordBytes);
  const rank = identity?.rank ?? 0;
  const recorder = new Recorder(memory, {
    ...{ pid: process.pid, thread: 0, process: `process ${rank}`, host: 'host-a', program: 'train.js' },
    ...{ runtime: 'Node 22.0.0', release: '0.1.0', job: 'digits', threadName: 'main' },
    clockOrigin: Number(process.hrtime.bigint()) / 1e3 - 1000 * performance.now(),
    ...thread,
  });
  const place = { kind: 'processes', engine: 'native', transport: 'shm', size: 2, rank };
  const group = recordedGroup({ id: 'group-1', ...place, ...identity });
  const communicator = recordedCommunicator({ recorded: group }, 'ring', 'exact') as NonNullable<
    ReturnType<typeof recordedCommunicator>
  >;
  const buffers = [{ dtype: 'float32', byteLength: 4096 }] as const;
  const collective = { kind: 'all-reduce', op: 'sum' } as const;
  const call = { collective, request: undefined, bytes: 4096, inputs: buffers, outputs: buffers };
  for (let made = 0; made < calls; made++) recorder.end(recorder.begin(communicator, call, false), true);
  if (isWaiting) recorder.begin(communicator, call, false);
  recorder.note({ kind: 'stall', text: 'ranks 0 in all-reduce sum', group });
  act?.(recorder);
  // What another thread of the process writes.
  const view = new DataView(memory);
  view.setFloat64(header.fields.alive, view.getFloat64(header.fields.loopTurn, true), true);
  view.setFloat64(header.fields.aliveWall, Date.now(), true);
  return new Uint8Array(memory);
}
