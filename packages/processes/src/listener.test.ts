import { randomBytes } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import type { ProcessBinding } from '@coll/native';
import { expect, it } from 'vitest';
import { connect } from './connect.js';
import { secretBytes } from './hello.js';
import { Listener } from './listener.js';
import { memberOf } from './member.js';
import { Sockets } from './sockets.js';

const jobKey = randomBytes(16).toString('hex');
const size = 300;

/** A double: connections keep the numbers that Node gave them, and are Node's to close. */
const untaken = { takeSocket: (descriptor: number) => descriptor, closeSocket: () => {} } as unknown as ProcessBinding;

it('accepts as many members as a group has, who come one after the other', async () => {
  const memberAt = (rank: number) => memberOf({ rank, size, jobKey });
  const secret = Buffer.alloc(secretBytes);
  const sockets = new Sockets(untaken);
  const listener = await Listener.listen({ member: memberAt(0), host: '127.0.0.1', secret, sockets });
  const { signal } = new AbortController();
  setMaxListeners(0, signal);
  const ranks = Array.from({ length: size - 1 }, (_, index) => index + 1);
  const accepted = Promise.all(ranks.map((rank) => listener.accept(rank, 0, signal)));
  const common = { rank: 0, addresses: [listener.address], channel: 0, signal, secret, sockets };
  for (const rank of ranks) await connect({ ...common, member: memberAt(rank) });
  expect((await accepted).map(({ rank }) => rank)).toEqual(ranks);
  listener.close();
});

it('ends waiting with the reason of the signal', async () => {
  const secret = Buffer.alloc(secretBytes);
  const member = memberOf({ rank: 0, size: 2, jobKey });
  const listener = await Listener.listen({ member, host: '127.0.0.1', secret, sockets: new Sockets(untaken) });
  const over = new AbortController();
  const accepted = listener.accept(1, 0, over.signal);
  over.abort(new Error('enough'));
  await expect(accepted).rejects.toThrow('enough');
  listener.close();
});
