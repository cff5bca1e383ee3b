import { type DistributedValues, type Tensor, tensorSymbol } from '@coll/core';
import { asGiven, containerSymbol } from '@coll/core/internal';
import { copyToDevice } from '@coll/core/plugin';
import { applyChange, type Change, changeValue } from './change.js';
import { Variable } from './variable.js';
import type { VariableTraits } from './variable-options.js';

const containers = new WeakMap<LocalVariable, DistributedValues<LocalVariable>>();

/** Records that variables are the components of a distributed variable. */
export function contain(container: DistributedValues<LocalVariable>): void {
  for (const component of container.values) containers.set(component, container);
}

/** A variable on one device: a component of a distributed one, or a separate one if no strategy is active. */
export class LocalVariable extends Variable {
  readonly device: string;
  readonly #memory: Tensor;

  constructor(traits: VariableTraits, initial: Tensor, device: string) {
    super(traits);
    this.device = device;
    this.#memory = copyToDevice({ ...initial, shape: traits.shape }, device) as Tensor;
  }

  /** The distributed variable that this variable is a component of; undefined if there is none. */
  get [containerSymbol](): DistributedValues<LocalVariable> | undefined {
    return containers.get(this);
  }

  read(): Tensor {
    return asGiven(copyToDevice(this.#memory, this.device) as Tensor);
  }

  /** The variable's memory, not a copy: later changes are visible in it. */
  [tensorSymbol](): Tensor {
    return this.#memory;
  }

  override toString(): string {
    return `Variable "${this.name}" ${this.dtype} [${this.shape}] on ${this.device}`;
  }

  /** Changes this component only. The change is done when the call returns. */
  protected async change(change: Change, value: unknown): Promise<this> {
    return this.changeSync(change, value);
  }

  /** Changes this component only. */
  protected changeSync(change: Change, value: unknown): this {
    applyChange(this.#memory, change, changeValue(this, change, value));
    return this;
  }
}
