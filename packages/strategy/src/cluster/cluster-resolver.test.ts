import { expect, it } from 'vitest';
import { masterUrl } from './cluster-resolver.js';

it.each([
  ['a:1', 'grpc', 'grpc://a:1'],
  ['a:1', '', 'a:1'],
  ['a:1', undefined, 'a:1'],
  ['', 'grpc', ''],
  ['', undefined, ''],
])('the address of the master at %j with the protocol %j is %j', (address, rpcLayer, url) => {
  expect(masterUrl(address, rpcLayer)).toBe(url);
});
