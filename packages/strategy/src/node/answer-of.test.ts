import { once } from 'node:events';
import { createServer, type RequestListener, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { answerOf } from './answer-of.js';

async function asked(listener: RequestListener, millis = 10_000): Promise<unknown> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  try {
    return await answerOf(request({ host: '127.0.0.1', port, signal: AbortSignal.timeout(millis) }));
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const breaksOff: RequestListener = (_, answer) => {
  answer.write('{"items"');
  setTimeout(() => answer.destroy(), 20);
};

describe('answerOf', () => {
  it('returns the parsed JSON of the response', async () => {
    expect(await asked((_, answer) => answer.end('{"items":[1]}'))).toEqual({ items: [1] });
  });

  it.each<readonly [string, RequestListener, RegExp]>([
    ['another status', (_, answer) => answer.writeHead(403).end('no'), /^status 403; is the service account/],
    ['a response that is not JSON', (_, answer) => answer.end('<html>'), /JSON/],
    ['an interrupted response', breaksOff, /aborted|terminated|premature/i],
    ['a connection that closes without a response', (asking) => asking.socket.destroy(), /socket hang up/],
  ])('rejects for %s', async (_, listener, words) => {
    await expect(asked(listener)).rejects.toThrow(words);
  });

  it('rejects with the error of a request that fails after it has started', async () => {
    const server = createServer((_, answer) => answer.write('{"items"')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const asking = request({ host: '127.0.0.1', port: (server.address() as AddressInfo).port });
    const answer = answerOf(asking);
    await once(asking, 'response');
    expect(asking.emit('error', new Error('too late'))).toBe(true);
    server.closeAllConnections();
    server.close();
    await expect(answer).rejects.toThrow(/aborted|terminated|premature/i);
  });

  it.each<readonly [string, RequestListener]>([
    ['begins', () => {}],
    ['continues', (_, answer) => answer.write('{"items"')],
  ])('times out if the server never %s', async (_, listener) => {
    await expect(asked(listener, 100)).rejects.toThrow(/timeout|aborted/);
  });
});
