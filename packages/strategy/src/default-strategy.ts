import {
  asValue,
  type Destinations,
  mapStructure,
  NotImplementedError,
  type PossiblyMirrored,
  type ReduceOpLike,
  type ReplicaValue,
  RuntimeError,
  reduceOpFrom,
  type Structure,
  type Tensor,
  type Value,
} from '@coll/core';
import { runInReplica, setDefaultFrame } from './contexts.js';
import { StrategyExtended } from './extended.js';
import type { ReplicaContext } from './replica-context.js';
import { type ReplicaFunction, type RunOptions, requireArguments, Strategy } from './strategy.js';

/** What holds where no strategy is in charge: one replica, to which everything belongs that is not in a scope. */
class DefaultStrategy extends Strategy {
  readonly extended: StrategyExtended = new DefaultExtended(this);

  override get numReplicasInSync(): number {
    return 1;
  }

  async run(replica: ReplicaFunction<never> | URL, { args = [] }: RunOptions = {}): Promise<Structure<unknown>> {
    requireArguments(args);
    if (replica instanceof URL)
      throw new RuntimeError(
        'ERR_COLL_CONTEXT',
        'run: the default strategy has no threads for a module; make a MirroredStrategy',
      );
    return (await runInReplica(defaultReplica, () =>
      replica(defaultReplica, ...(args as never)),
    )) as Structure<unknown>;
  }

  override async reduce(reduceOp: ReduceOpLike, value: unknown): Promise<Structure<unknown>> {
    reduceOpFrom(reduceOp);
    return value as Structure<unknown>;
  }

  override async gather(value: unknown): Promise<Tensor> {
    return value as Tensor;
  }
}

class DefaultExtended extends StrategyExtended {
  constructor(strategy: Strategy) {
    super(strategy, [], () => Promise.reject(noDevices('crossDeviceOps')));
    Object.defineProperty(this, 'workerDevices', {
      get: () => {
        throw noDevices('workerDevices');
      },
    });
  }

  override async reduceTo(reduceOp: ReduceOpLike, value: unknown): Promise<Structure<unknown>> {
    reduceOpFrom(reduceOp);
    return value as Structure<unknown>;
  }

  override async broadcastTo(value: unknown, destinations?: Destinations): Promise<PossiblyMirrored | number> {
    if (destinations === undefined) return value as Value;
    throw new NotImplementedError(
      'ERR_COLL_NOT_IMPLEMENTED',
      'broadcastTo with destinations needs a strategy other than the default one',
    );
  }
}

/** The one replica of the default strategy: everything it does with the others, it does alone. */
class DefaultReplicaContext implements ReplicaContext {
  readonly strategy: Strategy = defaultStrategy;
  readonly numReplicasInSync = 1;
  readonly replicaIdInSyncGroup = 0;
  readonly devices = ['cpu:0'];

  async allReduce(op: ReduceOpLike, value: ReplicaValue): Promise<Structure<Value>> {
    return this.allReduceSync(op, value);
  }

  allReduceSync(op: ReduceOpLike, value: ReplicaValue): Structure<Value> {
    reduceOpFrom(op);
    return mapStructure(value, asValue);
  }

  async allGather(value: ReplicaValue): Promise<Structure<Tensor>> {
    return this.broadcastSync(value);
  }

  async broadcast(value: ReplicaValue): Promise<Structure<Tensor>> {
    return this.broadcastSync(value);
  }

  broadcastSync(value: ReplicaValue): Structure<Tensor> {
    return mapStructure(value, asValue) as Structure<Tensor>;
  }

  async mergeCall<Args extends readonly unknown[], Result>(
    fn: (strategy: Strategy, ...args: Args) => Result | Promise<Result>,
    args?: Args,
  ): Promise<Result> {
    return fn(this.strategy, ...((args ?? []) as unknown as Args));
  }

  report(): void {}
}

function noDevices(what: string): RuntimeError {
  return new RuntimeError(
    'ERR_COLL_CONTEXT',
    `${what} is not there for the default strategy; enter the scope of a strategy, or call the method on one`,
  );
}

const defaultStrategy = new DefaultStrategy();
const defaultReplica = new DefaultReplicaContext();
setDefaultFrame(defaultStrategy, defaultReplica);
