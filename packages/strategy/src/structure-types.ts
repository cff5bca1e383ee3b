import type { DistributedValues, IndexedSlices, PerReplica, Structure, Tensor, TensorLike } from '@coll/core';

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

/** What collectives make of values: a new structure like theirs, with tensors and slices as leaves. */
export type Reduced<T> = T extends IndexedSlices
  ? IndexedSlices
  : T extends TensorLike
    ? Tensor
    : T extends List<T>
      ? Reduced<T[number]>[]
      : { -readonly [Key in keyof T]: Reduced<T[Key]> };

/** What an all-reduce of promises gives: the same structure, with a promise of a result in the place of each leaf. */
export type ReducedLater<T> =
  T extends PromiseLike<infer Leaf>
    ? Promise<Reduced<Leaf>>
    : T extends IndexedSlices
      ? Promise<IndexedSlices>
      : T extends TensorLike
        ? Promise<Tensor>
        : T extends List<T>
          ? ReducedLater<T[number]>[]
          : { -readonly [Key in keyof T]: ReducedLater<T[Key]> };
