import { expect, it } from 'vitest';
import { ClusterSpec } from '../cluster/cluster-spec.js';
import { SimpleClusterResolver } from '../cluster/simple-cluster-resolver.js';
import { meetingPlace } from './meeting-place.js';
import { placeOf } from './worker-place.js';

function meetingPlaceAt(address: string) {
  const task = { taskType: 'worker', taskId: 0 };
  const resolver = new SimpleClusterResolver(new ClusterSpec({ worker: [address, 'b:2'] }), task);
  return meetingPlace(resolver, placeOf(resolver), { jobKey: 'a secret of many bytes' }, {});
}

it.each(['a:1', '10.0.0.1:2222', '[::1]:2222'])('lets workers meet at %s', (address) => {
  expect(meetingPlaceAt(address)).toMatchObject({ address: `tcp://${address}`, isHere: true });
});

it.each(['a', 'a:b', 'a:1/b', 'a:99999', ':1', 'a b:1', '[::1:1'])('says that workers cannot meet at %j', (address) => {
  const told = `workers meet at the address of worker 0, which is "${address}": describe the`;
  const refused = { name: 'ValueError', code: 'ERR_COLL_CLUSTER', message: expect.stringContaining(told) };
  expect(() => meetingPlaceAt(address)).toThrow(expect.objectContaining(refused));
});
