import type { ResolvedOptions } from '../call-options.js';
import type { RunOptions } from '../communicator.js';
import { PerReplica } from '../distributed-values.js';
import type { DType } from '../dtype.js';
import { AbortedError, type CollError, DeadlineExceededError, InternalError, RuntimeError } from '../errors.js';
import type { World } from '../plugins/world.js';
import type { ReduceOp } from '../reduce-op.js';
import { resultsFor, writtenTo } from '../results.js';
import { IndexedSlices } from '../sparse/indexed-slices.js';
import { copyToDevice, type Value } from '../sparse/sparse.js';
import { packLike, type Structure } from '../structure.js';
import { type Tensor, zeros } from '../tensor.js';
import { afterSeconds } from '../timer.js';
import { Meeting } from './meeting.js';
import {
  type PreparedCall,
  prepare,
  type ReplicaCallOptions,
  type ReplicaValue,
  requireLocal,
} from './replica-call.js';
import type { ReplicaGroup } from './replica-group.js';

/** How all replicas' values are reduced where one thread holds them all; results are one list of values a replica. */
export type ReduceTogether = (
  op: ReduceOp,
  values: readonly PerReplica<Value>[],
  call: ResolvedOptions,
) => Promise<readonly (readonly Value[])[]>;

interface LocalCall extends PreparedCall {
  readonly op: ReduceOp;
}

const operation = 'all-reduce';

/**
 * All replicas here, as concurrent calls of one thread, which meet and are reduced together. A deadline, a signal or `close`
 * ends the group for all of them.
 */
export class LocalReplicaGroup implements ReplicaGroup {
  // The ops reduce what meets here: those that have an engine for it say so themselves.
  readonly engine = 'js';
  readonly #world: World;
  readonly #meeting: Meeting<LocalCall, readonly Value[]>;
  #ended: CollError | undefined;

  constructor(world: World, reduceTogether: ReduceTogether) {
    this.#world = world;
    this.#meeting = new Meeting(world.devices.length, (calls) => this.#reduce(calls, reduceTogether));
  }

  async allReduce(
    op: ReduceOp,
    value: ReplicaValue,
    replicaId: number,
    options?: ReplicaCallOptions,
  ): Promise<Structure<Value>> {
    requireLocal(replicaId, this.#world.localRanks);
    const call = prepare(op, value, options);
    const dense = call.values.filter((item) => !(item instanceof IndexedSlices)) as Tensor[];
    const targets = call.into && resultsFor(op.toLowerCase() as Lowercase<ReduceOp>, dense, call.into);
    if (this.#ended) throw this.#ended;
    const results = await this.#within(call.run, replicaId, () => this.#meeting.join(replicaId, { ...call, op }));
    return packLike(value, writtenTo(targets, results, call.values));
  }

  allReduceArriving(): never {
    return refuseShared('allReduce of promises');
  }

  allReduceSync(): never {
    return refuseShared('allReduceSync');
  }

  allGather(): never {
    return refuseShared('allGather');
  }

  broadcast(): never {
    return refuseShared('broadcast');
  }

  broadcastSync(): never {
    return refuseShared('broadcastSync');
  }

  allocate(dtype: DType, shape: readonly number[]): Tensor {
    return zeros(dtype, shape);
  }

  async close(): Promise<void> {
    this.#end(new RuntimeError('ERR_COLL_CLOSED', `${operation}: these ops were closed`, { operation }));
  }

  /** Waits for the others no longer than the call allows. */
  async #within<Result>(
    { timeoutSeconds, signal }: RunOptions,
    rank: number,
    join: () => Promise<Result>,
  ): Promise<Result> {
    const details = { rank, operation };
    const abort = () => {
      const cause = signal?.reason;
      this.#end(new AbortedError('ERR_COLL_ABORTED', `${operation}: replica ${rank} aborted`, { ...details, cause }));
    };
    const giveUp = () => {
      const missing = this.#meeting.missing().join(', ');
      const told = `${operation}: timed out on replica ${rank} waiting for other replicas: replica ${missing} never came`;
      this.#end(new DeadlineExceededError('ERR_COLL_DEADLINE', told, details));
    };
    const endTimer = afterSeconds(timeoutSeconds, giveUp);
    signal?.addEventListener('abort', abort);
    try {
      const joined = join();
      if (signal?.aborted) abort();
      return await joined;
    } finally {
      endTimer();
      signal?.removeEventListener('abort', abort);
    }
  }

  #end(error: CollError): void {
    this.#ended ??= error;
    this.#meeting.fail(error);
  }

  async #reduce(calls: readonly LocalCall[], reduceTogether: ReduceTogether): Promise<readonly (readonly Value[])[]> {
    const [first] = calls as readonly [LocalCall];
    const odd = calls.findIndex((call) => toldOf(call) !== toldOf(first));
    if (odd >= 0) {
      const told = `replica 0 reduces ${toldOf(first)}, replica ${odd} ${toldOf(calls[odd] as LocalCall)}`;
      throw new InternalError('ERR_COLL_MISMATCH', `all-reduce: ${told}; all replicas must make the same call`, {
        rank: odd,
        operation: 'all-reduce',
      });
    }
    const placed = first.values.map((_, index) => {
      return new PerReplica(
        calls.map(({ values }, replica) => placedOn(values[index] as Value, this.#world.devices[replica] as string)),
      );
    });
    return reduceTogether(first.op, placed, first.resolved);
  }
}

/** What all replicas have to do alike. */
function toldOf({ op, values, form, resolved }: LocalCall): string {
  const structure = form === '' ? '' : ` in ${form}`;
  return `${values.length} values${structure} by ${op}${resolved.deduplicate ? ' with deduplicate' : ''}`;
}

function refuseShared(operation: string): never {
  const cure =
    "run the replicas in worker threads (strategy.run with a module), or use the replica context's asynchronous call";
  throw new RuntimeError('ERR_COLL_CONTEXT', `${operation} would block the thread that all replicas share: ${cure}`, {
    operation,
  });
}

function placedOn(value: Value, device: string): Value {
  if (value.device !== '') return value;
  return value instanceof IndexedSlices ? (copyToDevice(value, device) as IndexedSlices) : { ...value, device };
}
