import { ClusterSpec } from '@coll/rendezvous/internal';
import { expect, it } from 'vitest';
import { SimpleClusterResolver } from '../cluster/simple-cluster-resolver.js';
import { ownHost, storeAddress } from './store-address.js';
import { workerInfoOf } from './worker-info.js';

function storeAddressAt(address: string) {
  const task = { taskType: 'worker', taskId: 0 };
  const resolver = new SimpleClusterResolver(new ClusterSpec({ worker: [address, 'b:2'] }), task);
  return storeAddress(resolver, workerInfoOf(resolver), { jobKey: 'tests-only-4kQz9XvB7mLwR2' }, {});
}

it.each([
  ['a:1', 'a'],
  ['10.0.0.1:2222', '10.0.0.1'],
  ['[::1]:2222', '::1'],
  ['a', undefined],
  ['a:', undefined],
  ['a/b:1', undefined],
  ['', undefined],
])('the worker at %j is reached by the host %j', (address, host) => {
  const task = { taskType: 'worker', taskId: 0 };
  const resolver = new SimpleClusterResolver(new ClusterSpec({ worker: [address] }), task);
  expect(ownHost(resolver, workerInfoOf(resolver))).toBe(host);
});

it('a worker without a cluster has no host address', () => {
  const resolver = new SimpleClusterResolver(new ClusterSpec());
  expect(ownHost(resolver, workerInfoOf(resolver))).toBeUndefined();
});

it('the store of the workers requires an address and a key', async () => {
  await expect(storeAddressAt('')).rejects.toThrow('the address of worker 0, which is not known: describe the cluster');
  const resolver = new SimpleClusterResolver(new ClusterSpec({ worker: ['a:1', 'b:2'] }), {
    ...{ taskType: 'worker', taskId: 1 },
  });
  const info = workerInfoOf(resolver);
  await expect(storeAddress(resolver, info, {}, {})).rejects.toThrow(
    expect.objectContaining({
      ...{ name: 'ValueError', code: 'ERR_COLL_CLUSTER' },
      message: expect.stringContaining('the workers have no job key: make a key with `npx coll key`'),
    }),
  );
  const environment = { COLL_JOB: 'mine', COLL_JOB_KEY: 'tests-only-4kQz9XvB7mLwR2', COLL_GENERATION: '3' };
  const mine = { job: 'mine', jobKey: 'tests-only-4kQz9XvB7mLwR2', generation: 3 };
  const here = { address: 'tcp://a:1', isOfWorker: true, isHere: false };
  expect(await storeAddress(resolver, info, {}, environment)).toEqual({ ...mine, ...here });
  expect(await storeAddress(resolver, info, { jobKey: 'other-tests-8sHdP3nYcK5vT' }, {})).toEqual({
    ...{ job: 'multi-worker', jobKey: 'other-tests-8sHdP3nYcK5vT', generation: 0 },
    ...here,
  });
  expect(await storeAddress(resolver, info, { generation: 4 }, { ...environment, COLL_STORE: 'tcp://s:9' })).toEqual({
    ...mine,
    ...{ generation: 4, address: 'tcp://s:9', isOfWorker: false, isHere: false },
  });
});

it.each(['a:1', '10.0.0.1:2222', '[::1]:2222'])('the workers find each other at %s', async (address) => {
  expect(await storeAddressAt(address)).toMatchObject({ address: `tcp://${address}`, isHere: true });
});

it.each(['a', 'a:b', 'a:1/b', 'a:99999', ':1', 'a b:1', '[::1:1'])(
  'the workers cannot use the address %j',
  async (address) => {
    const message = `all workers connect to the address of worker 0, which is "${address}": describe the`;
    const refused = { name: 'ValueError', code: 'ERR_COLL_CLUSTER', message: expect.stringContaining(message) };
    await expect(storeAddressAt(address)).rejects.toThrow(expect.objectContaining(refused));
  },
);
