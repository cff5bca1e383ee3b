import type { ReduceOp } from '../src/collectives/reduce-op.js';
import type { ArrivingValue } from '../src/replicas/arriving-values.js';
import type { ReplicaCallOptions, ReplicaValue } from '../src/replicas/replica-call.js';
import type { ReplicaGroup } from '../src/replicas/replica-group.js';

/** What replica contexts do with a group. */
export class ReplicaVerbs {
  readonly group: ReplicaGroup;

  constructor(group: ReplicaGroup | undefined) {
    this.group = group as ReplicaGroup;
  }

  async allReduce(op: ReduceOp, value: ReplicaValue, id: number, options?: ReplicaCallOptions) {
    return this.group.run(this.group.reduceCall(op, value, id, options));
  }

  allReduceSync(op: ReduceOp, value: ReplicaValue, id: number, options?: ReplicaCallOptions) {
    return this.group.runSync(this.group.reduceCall(op, value, id, options));
  }

  allReduceArriving(op: ReduceOp, value: ArrivingValue, id: number, options?: ReplicaCallOptions) {
    return this.group.runArriving(op, value, id, options);
  }

  async allGather(value: ReplicaValue, axis: number, id: number, options?: ReplicaCallOptions) {
    return this.group.run(this.group.gatherCall(value, axis, id, options));
  }

  allGatherSync(value: ReplicaValue, axis: number, id: number, options?: ReplicaCallOptions) {
    return this.group.runSync(this.group.gatherCall(value, axis, id, options));
  }

  async broadcast(value: ReplicaValue, root: number, id: number, options?: ReplicaCallOptions) {
    return this.group.run(this.group.broadcastCall(value, root, id, options));
  }

  broadcastSync(value: ReplicaValue, root: number, id: number, options?: ReplicaCallOptions) {
    return this.group.runSync(this.group.broadcastCall(value, root, id, options));
  }
}
