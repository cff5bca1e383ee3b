import {
  type CrossDeviceOps,
  type DistributedValues,
  getDevicesFrom,
  IndexedSlices,
  PerReplica,
  type PossiblyMirrored,
  type ReadyPair,
  type ReduceOp,
  type ResolvedOptions,
  stitchValues,
  type Value,
  ValueError,
} from '@coll/core';
import { partOf } from '@coll/core/internal';
import type { SpecPlan } from './compat/spec-plan.js';
import type { NcclGroups } from './nccl-groups.js';

/**
 * Passes values in GPU memory to NCCL, because schedules cannot access that memory. The all-reduce
 * specification must then name no algorithm other than NCCL.
 */
export class NcclValues {
  readonly #plan: SpecPlan;
  readonly #nccl: NcclGroups;

  constructor(plan: SpecPlan, nccl: NcclGroups) {
    this.#plan = plan;
    this.#nccl = nccl;
  }

  /**
   * The cross-device ops that reduce a value; undefined for values in host memory.
   * @throws ValueError if the all-reduce specification names an algorithm other than `nccl`
   */
  async opsFor({ values, devices }: DistributedValues<Value>): Promise<CrossDeviceOps | undefined> {
    const found = values.find(isInDeviceMemory);
    if (!found) return undefined;
    if (this.#plan.isNcclAlone) return this.#nccl.ops(devices);
    const message = `${this.#plan.specification} runs on the host, but a value is in the memory of ${found.device}`;
    const advice = "specify 'nccl', use CollectiveAllReduce, or copy the value to the host with toHost of @coll/nccl";
    throw new ValueError('ERR_COLL_DEVICE', `multi-worker: ${message}: ${advice}`);
  }

  /**
   * Reduces values in GPU memory by NCCL, and passes all other values to the function `others`.
   * Results are in the order of the pairs.
   */
  async batchReduce(
    op: ReduceOp,
    pairs: readonly ReadyPair[],
    call: ResolvedOptions,
    others: (pairs: readonly ReadyPair[], call: ResolvedOptions) => Promise<readonly PossiblyMirrored[]>,
  ): Promise<PossiblyMirrored[]> {
    const chosen = await Promise.all(pairs.map(([value]) => this.opsFor(value)));
    const ops = chosen.find((each) => each !== undefined);
    if (!ops) return [...(await others(pairs, call))];
    const indices = [...pairs.keys()];
    const byNccl = indices.filter((index) => chosen[index]);
    const byOthers = indices.filter((index) => !chosen[index]);
    const part = (wanted: readonly number[]) => wanted.map((index) => pairs[index] as ReadyPair);
    const targets = (wanted: readonly number[]) => wanted.map((index) => call.targets?.[index]);
    const into = call.targets && { into: targets(byNccl).map((tensors) => tensors && new PerReplica(tensors)) };
    const reduced = await ops.batchReduce(op, part(byNccl), { ...partOf(call), ...into });
    const own = call.targets ? { ...call, targets: targets(byOthers) } : call;
    const rest = byOthers.length > 0 ? await others(part(byOthers), own) : [];
    return stitchValues<PossiblyMirrored>([
      [reduced, byNccl],
      [rest, byOthers],
    ]);
  }

  /** Copies a value in GPU memory by NCCL; returns undefined for values on the host. */
  async broadcast(
    value: Value,
    destinations: Parameters<CrossDeviceOps['broadcast']>[1],
  ): Promise<PossiblyMirrored | undefined> {
    const ops = await this.opsFor(new PerReplica([value]));
    return ops?.broadcast(value, getDevicesFrom(destinations));
  }
}

function isInDeviceMemory(value: Value): boolean {
  const parts = value instanceof IndexedSlices ? [value.values, value.indices] : [value];
  return parts.some(({ memory }) => memory !== undefined);
}
