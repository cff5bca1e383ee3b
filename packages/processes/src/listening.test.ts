import { type AddressInfo, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { Refusals, untilDeaf } from './listening.js';

const refused = Object.assign(new Error('no'), { code: 'ECONNREFUSED' });

it('an address counts as not listening only after uninterrupted refusals', () => {
  const refusals = new Refusals();
  expect(refusals.haveLasted(1000, refused)).toBe(false);
  expect(refusals.haveLasted(0, refused)).toBe(true);
  expect(refusals.haveLasted(0, new Error('no'))).toBe(false);
  expect(refusals.haveLasted(0, undefined)).toBe(false);
  expect(refusals.haveLasted(1e-9, refused)).toBe(false);
});

it('an address that listened before is soon detected as no longer listening', async () => {
  const server = createServer((socket) => {
    socket.destroy();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const patience = { goneSeconds: 0.1, silentSeconds: 1e6, isReachable: false };
  await untilDeaf({ addresses: [{ host: '127.0.0.1', port }], ...patience, signal: new AbortController().signal });
});

it('waiting until an address no longer listens ends when its signal is aborted', async () => {
  const patience = { goneSeconds: 1e6, silentSeconds: 1e6, isReachable: false };
  const over = new AbortController();
  const waiting = untilDeaf({ addresses: [{ host: '127.0.0.1', port: 1 }], ...patience, signal: over.signal });
  over.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
});
