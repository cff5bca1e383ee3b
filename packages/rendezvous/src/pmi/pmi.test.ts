import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { CollError } from '@coll/core';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { PmiServerDouble } from '../../test/pmi-server-double.js';
import { exchangeByPmi1, fieldsOfLine, takeLine } from './pmi-1.js';
import { exchangeByPmi2, fieldsOfFrame, frameOf, takeFrame } from './pmi-2.js';
import { PmiConnection, type TakeAnswer } from './pmi-connection.js';

const open: { destroy(): void }[] = [];

afterEach(() => {
  for (const socket of open.splice(0)) socket.destroy();
});

/** A client's connection, and the server's end of it. */
async function connected(): Promise<{ pmi: PmiConnection; server: Duplex; client: Socket }> {
  const listening = createServer().listen(0, '127.0.0.1');
  await once(listening, 'listening');
  const client = connect((listening.address() as { port: number }).port, '127.0.0.1');
  const [server] = (await once(listening, 'connection')) as [Socket];
  // A server that has closed keeps its connections.
  listening.close();
  open.push(client, server);
  return { pmi: new PmiConnection(client), server, client };
}

const protocols: readonly (readonly [
  string,
  (pmi: PmiConnection, text: string | undefined, rank: number) => Promise<string>,
])[] = [
  ['PMI-1', (pmi, text) => exchangeByPmi1(pmi, text)],
  ['PMI-2', (pmi, text, rank) => exchangeByPmi2(pmi, text, { job: '1.0', rank })],
];

describe.each(protocols)('%s', (_, exchange) => {
  it('passes the text of rank 0 on to three ranks', async () => {
    const double = new PmiServerDouble(3);
    const texts = [0, 1, 2].map(async (rank) => {
      const { pmi, server } = await connected();
      double.serve(server);
      return exchange(pmi, rank === 0 ? 'dGNwOi8v' : undefined, rank);
    });
    expect(await Promise.all(texts)).toEqual(['dGNwOi8v', 'dGNwOi8v', 'dGNwOi8v']);
  });

  it.each(['cmd=response_to_init rc=-1\n', 'cmd=other rc=0\n', '\n', `${'x'.repeat(20_000)}`])(
    'rejects the answer %j',
    async (answer) => {
      const { pmi, server } = await connected();
      server.write(answer);
      await expect(exchange(pmi, undefined, 1)).rejects.toMatchObject({
        ...{ code: 'ERR_COLL_STORE', operation: 'start' },
        message: expect.stringMatching(
          /^the PMI server .* not of the protocol: .*set COLL_STORE to join through a store instead$/,
        ),
      });
    },
  );

  it('fails if the launcher closes the connection, now and later', async () => {
    const { pmi, server } = await connected();
    const exchanging = exchange(pmi, undefined, 1);
    server.destroy();
    const failure = {
      name: 'UnavailableError',
      code: 'ERR_COLL_STORE',
      message: /^the launcher closed the connection/,
    };
    await expect(exchanging).rejects.toMatchObject({ ...failure, message: expect.stringMatching(failure.message) });
    await expect(exchange(pmi, undefined, 1)).rejects.toThrow(failure.message);
  });
});

it('PMI-2 rejects a frame whose command failed', async () => {
  const { pmi, server } = await connected();
  server.write(`cmd=response_to_init rc=0\n${frameOf('fullinit-response', { rc: '14' })}`);
  await expect(exchangeByPmi2(pmi, undefined, { job: '1.0', rank: 1 })).rejects.toThrow('not of the protocol');
});

/** All answers at the beginning of a text. */
function answersIn(text: string, take: TakeAnswer): string[] {
  const answers: string[] = [];
  for (let taken = take(text); taken; taken = take(taken.rest)) answers.push(taken.answer);
  return answers;
}

const anyText = fc.oneof(
  fc.string({ unit: 'binary-ascii' }),
  fc
    .array(fc.constantFrom('cmd=', ';', ';;', '=', ' ', '\n', '12    ', '     3', 'rc=0', 'x'))
    .map((parts) => parts.join('')),
);

describe('any bytes', () => {
  it.each([
    ['lines', takeLine, fieldsOfLine],
    ['frames', takeFrame, fieldsOfFrame],
  ] as const)('are split into %s, or refused with a CollError, and each has fields', (_, take, fieldsOf) => {
    fc.assert(
      fc.property(anyText, (text) => {
        try {
          for (const answer of answersIn(text, take))
            for (const [name] of fieldsOf(answer)) expect(typeof name).toBe('string');
        } catch (error) {
          expect(error).toBeInstanceOf(CollError);
        }
      }),
    );
  });

  it('that are values of a frame come back unchanged', () => {
    const value = fc
      .string({ unit: fc.constantFrom('a', 'Z', '9', '-', '_', ';', ' ') })
      .filter((text) => !text.startsWith(';'));
    fc.assert(
      fc.property(value, (text) => {
        const taken = takeFrame(`${frameOf('kvs-put', { value: text, key: 'coll' })}rest`);
        expect(taken?.rest).toBe('rest');
        expect(Object.fromEntries(fieldsOfFrame(taken?.answer ?? ''))).toEqual({
          cmd: 'kvs-put',
          value: text,
          key: 'coll',
        });
      }),
    );
  });
});
