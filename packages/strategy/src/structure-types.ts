import type {
  DistributedValues,
  DTypeAfter,
  DTypeOf,
  IndexedSlices,
  Mirrored,
  PerReplica,
  ReducedValue,
  ReduceOpLike,
  Structure,
  Tensor,
  TensorLike,
  TypedArray,
} from '@coll/core';

type AnyFunction = (...args: never[]) => unknown;

/** What is one value although it is an object without methods. */
type PlainLeaf = AnyFunction | Tensor | IndexedSlices | Error;

/** Lists and plain objects; an object with methods is taken for a value of a class. */
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

/** Lists of any length, which may be nested in themselves; tuples are mapped item by item. */
type List<T> = T extends readonly unknown[] ? (number extends T['length'] ? T : never) : never;

type RegroupedStructure<T> =
  T extends List<T>
    ? readonly Regrouped<T[number]>[]
    : IsStructure<T> extends true
      ? { readonly [Key in keyof T]: Regrouped<T[Key]> }
      : never;

/**
 * What becomes of the values that replicas return. Numbers and bigints of several replicas are a `PerReplica`, equal or not; with one
 * replica in this process they are bare. Any other leaf is bare if it is identical on all replicas, and a `PerReplica` otherwise.
 */
export type Regrouped<T> = unknown extends T ? unknown : RegroupedLeaf<LeavesOf<T>> | RegroupedStructure<T>;

/** What one replica has of a value: components in the place of distributed values. */
export type LocalResult<T> = unknown extends T
  ? unknown
  : T extends DistributedValues<infer Component>
    ? Component
    : T extends List<T>
      ? readonly LocalResult<T[number]>[]
      : IsStructure<T> extends true
        ? { readonly [Key in keyof T]: LocalResult<T[Key]> }
        : T;

/** What replicas may reduce. */
export type Reducible<T> = StructureLike<T, TensorLike | IndexedSlices>;

/** What they may reduce while some of it is still computed. */
export type Arriving<T> = StructureLike<T, TensorLike | IndexedSlices | PromiseLike<TensorLike | IndexedSlices>>;

/** What they may gather and broadcast. */
export type Movable<T> = StructureLike<T, TensorLike>;

/** `T` as a structure of leaves. An object whose type is an interface has no index signature, so its fields are looked at one by one. */
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

/** What collectives make of values: a new structure like theirs, with tensors of the same dtype and slices as leaves; the mean of integers is a float. */
export type Reduced<T, Op extends ReduceOpLike = 'SUM'> = T extends IndexedSlices | TensorLike
  ? ReducedValue<T, Op>
  : T extends List<T>
    ? Reduced<T[number], Op>[]
    : { -readonly [Key in keyof T]: Reduced<T[Key], Op> };

/** What an all-reduce of promises gives: the same structure, with a promise of a result in the place of each leaf. */
export type ReducedLater<T, Op extends ReduceOpLike = 'SUM'> =
  T extends PromiseLike<infer Leaf>
    ? Promise<Reduced<Leaf, Op>>
    : T extends IndexedSlices | TensorLike
      ? Promise<ReducedValue<T, Op>>
      : T extends List<T>
        ? ReducedLater<T[number], Op>[]
        : { -readonly [Key in keyof T]: ReducedLater<T[Key], Op> };

/** Axes that are summed before values are combined; null and undefined: none. */
export type Axes = number | readonly number[] | null | undefined;

/** What `strategy.reduce` gives: along axes one tensor; otherwise a structure like the value's, in which what was one value for all may stay as it is. */
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

/** What may be passed for an argument of a replica's function: it, or distributed values of which each replica gets its component. */
export type Passed<Arg> = Arg | PerReplica<Arg> | Mirrored<Arg> | PassedStructure<Arg>;

type PassedStructure<Arg> = IsStructure<Arg> extends true ? { readonly [Key in keyof Arg]: Passed<Arg[Key]> } : never;
