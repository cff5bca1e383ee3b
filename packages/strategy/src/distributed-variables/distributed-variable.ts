import { DistributedValues, IndexedSlices, RuntimeError, tensorSymbol, type Value, WrongTypeError } from '@coll/core';
import { componentOf, distributedValuesSymbol, onDeviceOrPrimary, textOf } from '@coll/core/internal';
import { copyToDevice } from '@coll/core/plugin';
import { componentHere, currentFrame, localIdOf, mixing } from '../scope/contexts.js';
import type { ReplicaContext, Strategy } from '../scope/strategy.js';
import { applyChange, type Change, changeValue } from '../variables/change.js';
import { contain, type LocalVariable } from '../variables/local-variable.js';
import { Variable } from '../variables/variable.js';
import type { VariableTraits } from '../variables/variable-options.js';

/** The strategy and the components of a variable. */
export interface VariableParts {
  readonly strategy: Strategy;
  readonly components: readonly LocalVariable[];
  /** The replica in its own thread that holds the only component. */
  readonly thread?: ReplicaContext | undefined;
}

/**
 * A variable with a component on each device. Inside a replica, its methods use the replica's
 * component; outside, all components.
 */
export abstract class DistributedVariable extends Variable implements DistributedValues<LocalVariable> {
  readonly strategy: Strategy;
  readonly values: readonly LocalVariable[];
  readonly #thread: ReplicaContext | undefined;

  constructor(traits: VariableTraits, { strategy, components, thread }: VariableParts) {
    super(traits);
    this.strategy = strategy;
    this.values = Object.freeze([...components]);
    this.#thread = thread;
    contain(this);
  }

  abstract readonly kind: string;
  abstract get isMirrored(): boolean;
  abstract getCrossReplica(): LocalVariable;

  get isVariable(): boolean {
    return true;
  }

  get [distributedValuesSymbol](): true {
    return true;
  }

  /** Whether this is a variable in a replica's own thread, with one component. */
  get isOfThread(): boolean {
    return this.#thread !== undefined;
  }

  /**
   * Index of the first component among the replicas of this worker: 0, except for a variable in a
   * replica's own thread.
   */
  get firstComponent(): number {
    return this.#thread ? localIdOf(this.#thread) : 0;
  }

  get devices(): readonly string[] {
    return this.values.map(({ device }) => device);
  }

  /** The first component. */
  get primary(): LocalVariable {
    return this.values[0] as LocalVariable;
  }

  get(): LocalVariable {
    return this.local('get') ?? this.getCrossReplica();
  }

  getOnDeviceOrPrimary(device = ''): LocalVariable {
    return this.local('getOnDeviceOrPrimary') ?? onDeviceOrPrimary(this.values, device);
  }

  override toString(): string {
    return textOf(this);
  }

  /**
   * The component of the current replica or update; undefined in cross-replica context.
   * @throws RuntimeError while another strategy is active, and in cross-replica context for a
   * variable in a replica's thread
   */
  protected local(method: string): LocalVariable | undefined {
    const frame = currentFrame();
    if (frame && frame.strategy !== this.strategy) throw mixing(this.strategy, method, frame.strategy);
    const index = componentHere(frame);
    if (!this.#thread) return index === undefined ? undefined : componentOf(this, index);
    if (index !== undefined) return this.primary;
    throw new RuntimeError(
      'ERR_COLL_CONTEXT',
      `${method}: variable "${this.name}" exists separately in the thread of each replica, here of replica ${this.#thread.replicaIdInSyncGroup}; use it in the replica function, not in a merge call`,
      { operation: method },
    );
  }

  /**
   * Applies a change to all components. `value` is the same for all, or a mirrored value.
   * @throws WrongTypeError for a value that is not mirrored
   */
  protected changeAll(change: Change, value: unknown): void {
    const values = this.#changeValues(change, value);
    for (const [index, component] of this.values.entries())
      applyChange(component[tensorSymbol](), change, values[index] as Value);
  }

  #changeValues(change: Change, value: unknown): readonly Value[] {
    if (!(value instanceof DistributedValues) || value.isVariable) {
      const ready = this.#apart(changeValue(this, change, value));
      return this.values.map(() => ready);
    }
    if (value.isMirrored)
      return this.values.map((_, index) => this.#apart(changeValue(this, change, componentOf(value, index))));
    const advice = 'reduce the value first, or change the variable inside the replicas';
    throw new WrongTypeError(
      `${change} of variable "${this.name}" takes one value for all replicas, got a ${value.kind}: ${advice}`,
      { operation: change },
    );
  }

  // Copies a value that shares the variable's memory, because it must still be read while
  // components are written.
  #apart(value: Value): Value {
    const { buffer } = (value instanceof IndexedSlices ? value.values : value).data;
    const isOwn = this.values.some((component) => component[tensorSymbol]().data.buffer === buffer);
    return isOwn ? copyToDevice(value, value.device) : value;
  }
}
