import { type DType, type IndexedSlices, type Tensor, type TensorCarrier, tensorSymbol } from '@coll/core';
import type { Change } from './change.js';
import type {
  VariableAggregation,
  VariableSynchronization,
  VariableTraits,
  VariableValue,
} from './variable-options.js';

/**
 * A tensor that can be changed. A variable can be passed wherever a tensor can, without a copy. As
 * a destination, only its devices matter. A change that need not wait for other replicas is done
 * when the call returns, even if the method returns a promise. The `Sync` methods block the thread
 * if they must wait, and throw if they cannot block. Values must have the shape and dtype (`D` if
 * known) of the variable; lists of numbers are converted to its dtype.
 *
 * @example
 * ```ts
 * import { IndexedSlices } from '@coll/core';
 * import { variable } from '@coll/strategy';
 *
 * const weights = variable([1, 2, 3], { dtype: 'float32' });
 * await weights.assignSub([1, 1, 1]);
 * await weights.scatterAdd(new IndexedSlices(new Float32Array([10]), new Int32Array([2])));
 * console.log(weights.read().data); // Float32Array(3) [ 0, 1, 12 ]
 * ```
 */
export abstract class Variable<D extends DType = DType> implements TensorCarrier {
  readonly name: string;
  readonly dtype: D;
  readonly shape: readonly number[];
  readonly trainable: boolean;
  readonly synchronization: VariableSynchronization;
  readonly aggregation: VariableAggregation;

  constructor({ name, dtype, shape, trainable, synchronization, aggregation }: VariableTraits<D>) {
    this.name = name;
    this.dtype = dtype;
    this.shape = shape;
    this.trainable = trainable;
    this.synchronization = synchronization;
    this.aggregation = aggregation;
  }

  /** A copy of the current value; inside a replica, the value of the replica's component. */
  abstract read(): Tensor<D>;

  abstract [tensorSymbol](): Tensor<D>;

  /** The variable's name and devices, as text. */
  abstract toString(): string;

  /** Makes a change, which may have to wait for other replicas. */
  protected abstract change(change: Change, value: unknown): Promise<this>;
  /**
   * Makes a change before it returns; may block the thread.
   * @throws RuntimeError if the call must wait but cannot block this thread
   */
  protected abstract changeSync(change: Change, value: unknown): this;

  /**
   * Replaces the variable's value.
   * @throws ValueError for a value of another dtype or shape; RuntimeError while another strategy
   * is active
   */
  assign(value: VariableValue): Promise<this> {
    return this.change('assign', value);
  }

  /**
   * Replaces the variable's value synchronously.
   * @throws the errors of `assign`; RuntimeError if the call must wait but cannot block this thread
   */
  assignSync(value: VariableValue): this {
    return this.changeSync('assign', value);
  }

  /** Adds `value` to the variable. @throws the errors of `assign`; ValueError for bool */
  assignAdd(value: VariableValue): Promise<this> {
    return this.change('assignAdd', value);
  }

  /**
   * Adds `value` to the variable synchronously.
   * @throws the errors of `assignAdd`; RuntimeError if the call must wait but cannot block this
   * thread
   */
  assignAddSync(value: VariableValue): this {
    return this.changeSync('assignAdd', value);
  }

  /** Subtracts `value` from the variable. @throws the errors of `assignAdd` */
  assignSub(value: VariableValue): Promise<this> {
    return this.change('assignSub', value);
  }

  /** Subtracts `value` from the variable synchronously. @throws the errors of `assignAddSync` */
  assignSubSync(value: VariableValue): this {
    return this.changeSync('assignSub', value);
  }

  /**
   * Adds each of `rows` to the variable's row with the same index, one after the other. A row whose
   * index is listed twice is changed twice.
   * @throws WrongTypeError unless `rows` are IndexedSlices; ValueError for another dtype, rows of
   * another shape or out of range; NotImplementedError for variables that are synchronized on read
   */
  scatterAdd(rows: IndexedSlices): Promise<this> {
    return this.change('scatterAdd', rows);
  }

  /**
   * Synchronous `scatterAdd`.
   * @throws the errors of `scatterAdd`; RuntimeError if the call must wait but cannot block this
   * thread
   */
  scatterAddSync(rows: IndexedSlices): this {
    return this.changeSync('scatterAdd', rows);
  }

  /**
   * Subtracts each of `rows` from the variable's row with the same index.
   * @throws the errors of `scatterAdd`
   */
  scatterSub(rows: IndexedSlices): Promise<this> {
    return this.change('scatterSub', rows);
  }

  /**
   * Synchronous `scatterSub`.
   * @throws the errors of `scatterSub`; RuntimeError if the call must wait but cannot block this
   * thread
   */
  scatterSubSync(rows: IndexedSlices): this {
    return this.changeSync('scatterSub', rows);
  }

  /**
   * Multiplies the variable's rows by those of `rows` with the same index.
   * @throws the errors of `scatterAdd`
   */
  scatterMul(rows: IndexedSlices): Promise<this> {
    return this.change('scatterMul', rows);
  }

  /**
   * Synchronous `scatterMul`.
   * @throws the errors of `scatterMul`; RuntimeError if the call must wait but cannot block this
   * thread
   */
  scatterMulSync(rows: IndexedSlices): this {
    return this.changeSync('scatterMul', rows);
  }

  /**
   * Divides the variable's rows by those of `rows` with the same index; integer quotients are
   * truncated.
   * @throws the errors of `scatterAdd`; ValueError for integers divided by zero
   */
  scatterDiv(rows: IndexedSlices): Promise<this> {
    return this.change('scatterDiv', rows);
  }

  /**
   * Synchronous `scatterDiv`.
   * @throws the errors of `scatterDiv`; RuntimeError if the call must wait but cannot block this
   * thread
   */
  scatterDivSync(rows: IndexedSlices): this {
    return this.changeSync('scatterDiv', rows);
  }

  /**
   * Combines `rows` with the variable's rows of the same index; of two elements, the smaller is
   * kept.
   * @throws the errors of `scatterAdd`; NotImplementedError with aggregation SUM and MEAN
   */
  scatterMin(rows: IndexedSlices): Promise<this> {
    return this.change('scatterMin', rows);
  }

  /**
   * Synchronous `scatterMin`.
   * @throws the errors of `scatterMin`; RuntimeError if the call must wait but cannot block this
   * thread
   */
  scatterMinSync(rows: IndexedSlices): this {
    return this.changeSync('scatterMin', rows);
  }

  /**
   * Combines `rows` with the variable's rows of the same index; of two elements, the larger is
   * kept.
   * @throws the errors of `scatterMin`
   */
  scatterMax(rows: IndexedSlices): Promise<this> {
    return this.change('scatterMax', rows);
  }

  /**
   * Synchronous `scatterMax`.
   * @throws the errors of `scatterMax`; RuntimeError if the call must wait but cannot block this
   * thread
   */
  scatterMaxSync(rows: IndexedSlices): this {
    return this.changeSync('scatterMax', rows);
  }

  /**
   * Replaces the variable's rows by those of `rows` with the same index.
   * @throws the errors of `scatterMin`
   */
  scatterUpdate(rows: IndexedSlices): Promise<this> {
    return this.change('scatterUpdate', rows);
  }

  /**
   * Synchronous `scatterUpdate`.
   * @throws the errors of `scatterUpdate`; RuntimeError if it must wait but cannot block this
   * thread
   */
  scatterUpdateSync(rows: IndexedSlices): this {
    return this.changeSync('scatterUpdate', rows);
  }
}
