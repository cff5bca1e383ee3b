import { ValueError } from '@coll/core';
import { quote, requireList } from '@coll/core/internal';

// These are structural types and not imports, so they fit every 4.x build that the program may use,
// and no second copy of TensorFlow.js is needed.

export type TfData = Float32Array | Int32Array | Uint8Array | string[];

/** A tensor of TensorFlow.js 4. */
export interface TfTensor {
  readonly dataId: object;
  readonly dtype: string;
  readonly shape: number[];
  readonly size: number;
  /** Returns the elements. Blocks until the backend has computed them. */
  dataSync(): TfData;
  /** Resolves to the elements, once the backend has computed them. */
  data(): Promise<TfData>;
  /** Frees the memory of the tensor. */
  dispose(): void;
}

/** A variable of TensorFlow.js 4. */
export interface TfVariable extends TfTensor {
  readonly id: number;
  readonly name: string;
  readonly trainable: boolean;
  /** Sets the value, which must have the variable's shape and dtype. */
  assign(value: TfTensor): void;
}

/** The gradient of a variable; null or undefined if the loss does not depend on the variable. */
export type TfGradient = TfTensor | null | undefined;

/** Gradients by the name of their variable, or as a list of names and gradients. */
export type TfGradients =
  | Readonly<Record<string, TfGradient>>
  | readonly { readonly name: string; readonly tensor: TfGradient }[];

/** An optimizer of TensorFlow.js 4, or of a class that extends one. */
export interface TfOptimizer {
  /**
   * Computes the gradients of the loss `f` with respect to `variables`. Default: all trainable
   * variables.
   */
  computeGradients(f: () => TfTensor, variables?: TfVariable[]): unknown;
  /** Updates the variables by one step with these gradients. */
  applyGradients(gradients: TfGradients): void;
}

/** What `computeGradients` of an optimizer returns. */
export interface TfLossAndGradients {
  readonly value: TfTensor;
  readonly grads: Readonly<Record<string, TfGradient>>;
}

/** A Layers model, or anything else that lists its weights. */
export interface TfModel {
  readonly weights: readonly { read(): TfTensor }[];
}

/** The description of a weight in the artifacts of a model. */
export interface TfWeightSpec {
  name: string;
  shape: number[];
  dtype: 'float32' | 'int32' | 'bool' | 'string' | 'complex64';
}

/** A model as TensorFlow.js saves and loads it. */
export interface TfModelArtifacts {
  modelTopology?: object;
  format?: string;
  generatedBy?: string;
  convertedBy?: string | null;
  weightSpecs?: TfWeightSpec[];
  weightData?: ArrayBuffer | ArrayBuffer[];
  userDefinedMetadata?: { [key: string]: object };
}

/** What TensorFlow.js returns for a model that was saved. */
export interface TfSaveResult {
  modelArtifactsInfo: { dateSaved: Date; modelTopologyType: 'JSON' };
}

/** An `IOHandler` of TensorFlow.js, which saves models to one place and loads them from there. */
export interface TfIOHandler {
  /** Saves a model. */
  save(artifacts: TfModelArtifacts): Promise<TfSaveResult>;
  /** Loads the model. */
  load(): Promise<TfModelArtifacts>;
}

/** A Layers model, such as `tf.Sequential`. */
export interface TfLayersModel extends TfModel {
  /** The optimizer that the model was compiled with. */
  readonly optimizer?: TfOptimizer;
  /** Saves topology and weights. */
  save(handler: Pick<TfIOHandler, 'save'>): Promise<unknown>;
}

/** The part of `tf`, the program's own import of TensorFlow.js 4, that this package uses. */
export interface TensorFlow {
  /** The name of the backend in use. */
  getBackend(): string;
  /** The backend in use. Its `refCount` returns how many tensors share a piece of memory. */
  backend(): { refCount(dataId: object): number };
  /** The engine of TensorFlow.js, which lists all variables by name. */
  engine(): { readonly registeredVariables: Readonly<Record<string, TfVariable>> };
  /** The base class of all optimizers. */
  readonly Optimizer?: { readonly prototype: object };
  /** The class of all Layers models; undefined in `@tensorflow/tfjs-core`. */
  readonly LayersModel?: { readonly prototype: object };
  /** Creates a tensor with these elements. */
  tensor(values: Float32Array | Int32Array | Uint8Array, shape: number[], dtype: CarriedDType): TfTensor;
}

/** @throws ValueError unless `tf` is an import of TensorFlow.js */
export function requireTensorFlow(tf: unknown, operation: string): void {
  const { engine, tensor } = Object(tf) as Partial<TensorFlow>;
  if (typeof engine === 'function' && typeof tensor === 'function') return;
  const message = `tf must be TensorFlow.js, as \`import * as tf from '@tensorflow/tfjs'\`, got ${quote(tf)}`;
  throw new ValueError('ERR_COLL_VALUE', `${operation}: ${message}`);
}

/** @throws ValueError unless `variables` is a list of variables */
export function requireVariables(variables: unknown, operation: string): asserts variables is readonly TfVariable[] {
  requireList(variables, `${operation}: variables`);
  for (const variable of variables) {
    const { dtype, shape, dataSync } = Object(variable) as Partial<TfVariable>;
    if (typeof dtype === 'string' && Array.isArray(shape) && typeof dataSync === 'function') continue;
    throw new ValueError('ERR_COLL_VALUE', `${operation}: variables must be variables of tf, got ${quote(variable)}`);
  }
}

/** The array type of the elements of each dtype. */
export const arrayTypes = { float32: Float32Array, int32: Int32Array, bool: Uint8Array } as const;

export type CarriedDType = keyof typeof arrayTypes;

export function isCarried(dtype: string): dtype is CarriedDType {
  return Object.hasOwn(arrayTypes, dtype);
}

/**
 * The elements in the array type of their dtype. Copies them only if they have another array type:
 * the cpu backend keeps a float32 tensor in an Int32Array if the tensor was cast from int32.
 */
export function elementsOf(data: TfData, dtype: CarriedDType): Float32Array | Int32Array | Uint8Array {
  return data instanceof arrayTypes[dtype] ? data : arrayTypes[dtype].from(data as Int32Array);
}

/**
 * All trainable variables, in order of creation. They are the variables that `tf.variableGrads`
 * uses if no list is given.
 */
export function trainableVariables(tf: TensorFlow): TfVariable[] {
  return Object.values(tf.engine().registeredVariables).filter(({ trainable }) => trainable);
}

/** The variable with this name. @throws ValueError if no variable has that name */
export function variableNamed(tf: TensorFlow, name: string): TfVariable {
  const variable = tf.engine().registeredVariables[name];
  if (variable) return variable;
  throw new ValueError('ERR_COLL_VALUE', `the gradients contain "${name}", but tf has no variable of that name`);
}
