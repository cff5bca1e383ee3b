import type {
  DistributedValues,
  DTypeAfter,
  DTypeOf,
  IndexedSlices,
  Mirrored,
  PerReplica,
  PossiblyMirrored,
  ReducedOnDevices,
  ReducedValue,
  ReduceOpLike,
  Structure,
  Tensor,
  TensorLike,
  TypedArray,
} from '@coll/core';

type AnyFunction = (...args: never[]) => unknown;

/** Types that count as a single value, although they are objects without methods. */
type PlainLeaf = AnyFunction | Tensor | IndexedSlices | Error;

/** Lists and plain objects; an object with methods counts as a class instance. */
type IsStructure<T> = T extends readonly unknown[]
  ? true
  : T extends PlainLeaf
    ? false
    : T extends object
      ? Extract<T[keyof T], AnyFunction> extends never
        ? true
        : false
      : false;

type LeavesOf<T> = T extends unknown ? (IsStructure<T> extends true ? never : T) : never;

type RegroupedLeaf<Leaf> = [Leaf] extends [never] ? never : Leaf | PerReplica<Leaf>;

/** Lists of any length, which may be recursive; tuples are mapped item by item. */
type List<T> = T extends readonly unknown[] ? (number extends T['length'] ? T : never) : never;

type RegroupedStructure<T> =
  T extends List<T>
    ? readonly Regrouped<T[number]>[]
    : IsStructure<T> extends true
      ? { readonly [Key in keyof T]: Regrouped<T[Key]> }
      : never;

/**
 * The result of regrouping the values that replicas return. With several replicas in this process,
 * numbers and bigints are a `PerReplica` even if they are equal; with one replica they are bare.
 * Any other leaf is bare if it is identical on all replicas, and a `PerReplica` otherwise.
 */
export type Regrouped<T> = unknown extends T ? unknown : RegroupedLeaf<LeavesOf<T>> | RegroupedStructure<T>;

/** A value as one replica gets it, with components in place of distributed values. */
export type LocalResult<T> = unknown extends T
  ? unknown
  : T extends DistributedValues<infer Component>
    ? Component
    : T extends List<T>
      ? readonly LocalResult<T[number]>[]
      : IsStructure<T> extends true
        ? { readonly [Key in keyof T]: LocalResult<T[Key]> }
        : T;

/** Values that replicas can reduce. */
export type Reducible<T> = StructureLike<T, TensorLike | IndexedSlices>;

/** Values that replicas can reduce while some are still being computed. */
export type Arriving<T> = StructureLike<T, TensorLike | IndexedSlices | PromiseLike<TensorLike | IndexedSlices>>;

/** Values that replicas can gather and broadcast. */
export type Movable<T> = StructureLike<T, TensorLike>;

/**
 * `T` as a structure of leaves. An object with an interface type has no index signature, so its
 * fields are checked one by one.
 */
type StructureLike<T, Leaf> = Structure<Leaf> | (object & FieldsLike<T, Leaf>);

type FieldsLike<T, Leaf> = {
  readonly [Key in keyof T]: T[Key] extends Structure<Leaf>
    ? T[Key]
    : T[Key] extends AnyFunction
      ? never
      : T[Key] extends object
        ? FieldsLike<T[Key], Leaf>
        : never;
};

/**
 * The result of a collective: a new structure of the same form, with tensors of the same dtype and
 * slices as leaves. The mean of integers is a float.
 */
export type Reduced<T, Op extends ReduceOpLike = 'SUM'> = T extends IndexedSlices | TensorLike
  ? ReducedValue<T, Op>
  : T extends List<T>
    ? Reduced<T[number], Op>[]
    : { -readonly [Key in keyof T]: Reduced<T[Key], Op> };

/** The result of an all-reduce of promises: the same structure, with a promise in place of each leaf. */
export type ReducedLater<T, Op extends ReduceOpLike = 'SUM'> =
  T extends PromiseLike<infer Leaf>
    ? Promise<Reduced<Leaf, Op>>
    : T extends IndexedSlices | TensorLike
      ? Promise<ReducedValue<T, Op>>
      : T extends List<T>
        ? ReducedLater<T[number], Op>[]
        : { -readonly [Key in keyof T]: ReducedLater<T[Key], Op> };

/** Axes along which values are summed before they are combined; null and undefined mean no axis. */
export type Axes = number | readonly number[] | null | undefined;

/**
 * The result of `strategy.reduce`: with axes one tensor; otherwise a structure of the value's form,
 * in which a value shared by all replicas may stay unchanged.
 */
export type ReducedAcross<V, Op extends ReduceOpLike, Along extends Axes> = Along extends null | undefined
  ? unknown extends V
    ? unknown
    : V extends Mirrored<infer Component>
      ? ReducedAcross<Component, Op, Along>
      : V extends TypedArray | number
        ? V | ReducedValue<V, Op>
        : V extends TensorLike | IndexedSlices | DistributedValues
          ? ReducedValue<V, Op>
          : V extends List<V>
            ? ReducedAcross<V[number], Op, Along>[]
            : { -readonly [Key in keyof V]: ReducedAcross<V[Key], Op, Along> }
  : Tensor<DTypeAfter<Op, DTypeOf<LocalResult<V>>>>;

/**
 * The result of `extended.reduceTo`: a structure of the value's form, with a bare or mirrored value
 * for each leaf. A mirrored value stays unchanged, and so may any other value that is not distributed.
 */
export type ReducedTo<V, Op extends ReduceOpLike> = unknown extends V
  ? Structure<unknown>
  : V extends Mirrored
    ? V
    : V extends DistributedValues
      ? PossiblyMirrored<ReducedOnDevices<V, Op>>
      : V extends TensorLike | IndexedSlices
        ? (V extends number ? number : V) | PossiblyMirrored<ReducedOnDevices<V, Op>>
        : V extends List<V>
          ? ReducedTo<V[number], Op>[]
          : { -readonly [Key in keyof V]: ReducedTo<V[Key], Op> };

/**
 * Values accepted for an argument of a replica's function: the argument, or distributed values of
 * which each replica gets its component.
 */
export type Passed<Arg> = Arg | PerReplica<Arg> | Mirrored<Arg> | PassedStructure<Arg>;

type PassedStructure<Arg> = IsStructure<Arg> extends true ? { readonly [Key in keyof Arg]: Passed<Arg[Key]> } : never;
