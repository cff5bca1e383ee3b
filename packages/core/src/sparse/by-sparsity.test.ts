import { describe, expect, it, vi } from 'vitest';
import { PerReplica } from '../values/distributed-values.js';
import { IndexedSlices } from '../values/indexed-slices.js';
import { tensor } from '../values/tensor.js';
import { bySparsity } from './by-sparsity.js';

const dense = new PerReplica([tensor([1]), tensor([2])]);
const slices = new IndexedSlices(new Float32Array([1]), new Int32Array([0]));
const sparse = new PerReplica([slices, slices]);

describe('bySparsity', () => {
  it('returns results in the order of the values', async () => {
    const order: string[] = [];
    const serve = (kind: string) => async (_: unknown, indices: readonly number[]) => {
      order.push(kind);
      return indices.map((index) => `${kind} ${index}`);
    };
    const results = await bySparsity([sparse, dense, sparse, dense], serve('dense'), serve('sparse'));
    expect(results).toEqual(['sparse 0', 'dense 1', 'sparse 2', 'dense 3']);
    expect(order).toEqual(['dense', 'sparse']);
  });

  it('calls no function for a kind that the list does not have', async () => {
    const [never, always] = [vi.fn(), vi.fn(async () => ['result'])];
    expect(await bySparsity([dense], always, never)).toEqual(['result']);
    expect(await bySparsity([sparse], never, always)).toEqual(['result']);
    expect(await bySparsity([], never, never)).toEqual([]);
    expect(never).not.toHaveBeenCalled();
  });

  it('counts a value with dense and sparse components as dense', async () => {
    const mixed = new PerReplica([tensor([1]), slices]);
    const none = async () => [];
    const served = vi.fn(async () => [0]);
    await bySparsity([mixed], served, none);
    expect(served).toHaveBeenCalledWith([mixed], [0]);
  });
});
