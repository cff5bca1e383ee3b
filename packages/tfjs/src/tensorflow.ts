import { ValueError } from '@coll/core';
import { quote, requireList } from '@coll/core/internal';

// By shape and not by import: whichever 4.x build the program uses fits, and a second copy of tfjs does no harm.

export type TfData = Float32Array | Int32Array | Uint8Array | string[];

/** A tensor of TensorFlow.js 4. */
export interface TfTensor {
  readonly dataId: object;
  readonly dtype: string;
  readonly shape: number[];
  readonly size: number;
  /** Its elements, at once. */
  dataSync(): TfData;
  /** Its elements, once the backend has them. */
  data(): Promise<TfData>;
  /** Frees its memory. */
  dispose(): void;
}

/** A variable of TensorFlow.js 4. */
export interface TfVariable extends TfTensor {
  readonly id: number;
  readonly name: string;
  readonly trainable: boolean;
  /** Takes over a value of its shape and dtype. */
  assign(value: TfTensor): void;
}

/** The gradient of a variable; none where the loss does not touch it. */
export type TfGradient = TfTensor | null | undefined;

/** Gradients by the name of their variable, or a list of the two; a variable that the loss does not touch has none. */
export type TfGradients =
  | Readonly<Record<string, TfGradient>>
  | readonly { readonly name: string; readonly tensor: TfGradient }[];

/** An optimizer of TensorFlow.js 4, or one that extends it. */
export interface TfOptimizer {
  /** The gradients of a loss with respect to variables, by default to all trainable ones. */
  computeGradients(f: () => TfTensor, variables?: TfVariable[]): unknown;
  /** Makes one step. */
  applyGradients(gradients: TfGradients): void;
}

/** A Layers model, or anything else that lists its weights. */
export interface TfModel {
  readonly weights: readonly { read(): TfTensor }[];
}

/** What the adapter uses of `tf`: the program's own import of TensorFlow.js 4. */
export interface TensorFlow {
  /** The name of the backend in use. */
  getBackend(): string;
  /** The backend in use, which knows how many tensors share a piece of memory. */
  backend(): { refCount(dataId: object): number };
  /** The engine, which knows all variables by their names. */
  engine(): { readonly registeredVariables: Readonly<Record<string, TfVariable>> };
  /** A new tensor of these elements. */
  tensor(values: Float32Array | Int32Array | Uint8Array, shape: number[], dtype: CarriedDType): TfTensor;
}

/** @throws ValueError for anything but an import of TensorFlow.js */
export function requireTensorFlow(tf: unknown, operation: string): void {
  const { engine, tensor } = Object(tf) as Partial<TensorFlow>;
  if (typeof engine === 'function' && typeof tensor === 'function') return;
  const told = `tf must be TensorFlow.js, as \`import * as tf from '@tensorflow/tfjs'\`, got ${quote(tf)}`;
  throw new ValueError('ERR_COLL_VALUE', `${operation}: ${told}`);
}

/** @throws ValueError for anything but a list of variables */
export function requireVariables(variables: unknown, operation: string): asserts variables is readonly TfVariable[] {
  requireList(variables, `${operation}: variables`);
  for (const variable of variables) {
    const { dtype, shape, dataSync } = Object(variable) as Partial<TfVariable>;
    if (typeof dtype === 'string' && Array.isArray(shape) && typeof dataSync === 'function') continue;
    throw new ValueError('ERR_COLL_VALUE', `${operation}: variables must be variables of tf, got ${quote(variable)}`);
  }
}

const arrays = { float32: Float32Array, int32: Int32Array, bool: Uint8Array } as const;

export type CarriedDType = keyof typeof arrays;

export function isCarried(dtype: string): dtype is CarriedDType {
  return Object.hasOwn(arrays, dtype);
}

/** Elements as their dtype stores them, without a copy where they are. The cpu backend keeps a float32 that was cast from int32 as integers. */
export function elementsOf(data: TfData, dtype: CarriedDType): Float32Array | Int32Array | Uint8Array {
  return data instanceof arrays[dtype] ? data : arrays[dtype].from(data as Int32Array);
}

/** In the order in which they were made, which is what `tf.variableGrads` takes when no list is given. */
export function trainableVariables(tf: TensorFlow): TfVariable[] {
  return Object.values(tf.engine().registeredVariables).filter(({ trainable }) => trainable);
}

/** @throws ValueError where no variable has that name */
export function variableNamed(tf: TensorFlow, name: string): TfVariable {
  const variable = tf.engine().registeredVariables[name];
  if (variable) return variable;
  throw new ValueError('ERR_COLL_VALUE', `the gradients contain "${name}", but tf has no variable of that name`);
}
