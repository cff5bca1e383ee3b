import { randomBytes } from 'node:crypto';
import { UnavailableError } from '@coll/core';
import { describe, expect, it } from 'vitest';
import { AttackedNetwork, purposes, type Tapped } from './attacked-network.ts';
import { type Forger, forgedAnswer, forgedHello, type Offer, recordsOf } from './forged-hellos.ts';

/*
 * The network has the job key here, like a member that cannot or will not do what it should: it
 * forges the first message of TLS of one end.
 */

const offers: readonly Offer[] = ['TLS 1.2', 'TLS 1.3 without key share', 'TLS 1.3'];
const cases = Object.entries(purposes);
/** What the errors say, by the purpose of the connection. */
const messages: Readonly<Record<string, RegExp>> = {
  [purposes.control]: /rank [01] on .* was lost: (corrupt or foreign bytes|its process or its connection|it has sent)/,
  [purposes.messages]: /rank [01] on .* was lost: corrupt or foreign bytes arrived over its connection for messages/,
  [purposes.data]:
    /rank 1 on .* cannot open a data connection with rank 0 at .*: the (TLS handshake failed|connection has ended)/,
};
// For this long, the connecting end tries again to open data connections.
const openingSeconds = 15;
const patience = { timeoutSeconds: 60 };

/** Replaces what one end says in TLS by a forged message, and lets nothing else pass. */
function forge(network: AttackedNetwork, purpose: string, end: 0 | 1, forged: (tapped: Tapped) => Buffer): void {
  network.attack = (tapped, from, part) => {
    if (tapped.purpose !== purpose || from !== end) return part;
    const clear = network.clearBytes(purpose, end);
    const before = tapped.said[end].length;
    if (before + part.length <= clear) return part;
    if (before > clear) return Buffer.of();
    const said = [...tapped.said] as [Buffer, Buffer];
    said[end] = Buffer.concat([said[end], part]);
    return Buffer.concat([part.subarray(0, clear - before), forged({ ...tapped, said })]);
  };
}

/** On a connection for messages, the identity is a text. */
function forgerOf(network: AttackedNetwork, tapped: Tapped): Forger {
  const { identity, key } = network.sealOf(tapped);
  const isText = tapped.purpose === purposes.messages;
  return { identity: isText ? Buffer.from(identity.toString('hex')) : identity, key };
}

/** The error of each rank of a group that opens, computes and sends messages over the network. */
async function errorsOver(network: AttackedNetwork): Promise<readonly unknown[]> {
  const openings = network.open({ timeoutSeconds: openingSeconds });
  const errors = await Promise.all(
    openings.map(async (opening, rank) => {
      try {
        await using group = await opening;
        await group.allReduce('sum', new Float32Array(10), patience);
        const received = group.receive(1 - rank, new Float32Array(10), patience);
        await Promise.all([received, group.send(1 - rank, new Float32Array(10), patience)]);
        return undefined;
      } catch (error) {
        return error;
      }
    }),
  );
  network.close();
  return errors;
}

/** The records of TLS that an end has sent on its first connection for a purpose. */
function recordsFrom(network: AttackedNetwork, purpose: string, end: 0 | 1) {
  const [tapped] = network.about(purpose) as [Tapped];
  return recordsOf(tapped.said[end].subarray(network.clearBytes(purpose, end)));
}

function expectErrors(errors: readonly unknown[], purpose: string): void {
  for (const error of errors) {
    expect(error).toBeInstanceOf(UnavailableError);
    const message = expect.stringMatching(messages[purpose] as RegExp);
    expect(error).toMatchObject({ code: 'ERR_COLL_PEER_FAILED', message });
  }
}

describe('an encrypted connection', () => {
  const offered = cases.flatMap(([name, purpose]) => offers.map((offer) => [name, offer, purpose] as const));

  it.concurrent.each(offered)('refuses a first message of the connecting end (%s, %s)', async (_, offer, purpose) => {
    const network = new AttackedNetwork();
    forge(network, purpose, 0, (tapped) => forgedHello(forgerOf(network, tapped), offer));
    expectErrors(await errorsOver(network), purpose);
    // The complete offer is answered, so the others are forged well. Its sender cannot go on.
    expect(recordsFrom(network, purpose, 1)[0]).toBe(offer === 'TLS 1.3' ? 'handshake' : 'alert');
  });

  it.concurrent.each(cases)('refuses a first message with another key (%s)', async (_, purpose) => {
    const network = new AttackedNetwork();
    const key = randomBytes(32);
    forge(network, purpose, 0, (tapped) => forgedHello({ ...forgerOf(network, tapped), key }, 'TLS 1.3'));
    expectErrors(await errorsOver(network), purpose);
    expect(recordsFrom(network, purpose, 1)[0]).toBe('alert');
  });

  it.concurrent.each(offered)('refuses a first answer of the accepting end (%s, %s)', async (_, offer, purpose) => {
    const network = new AttackedNetwork();
    forge(network, purpose, 1, ({ said }) => forgedAnswer(said[0].subarray(network.clearBytes(purpose, 0)), offer));
    expectErrors(await errorsOver(network), purpose);
    // Node.js sends no alert. After the complete answer, the connecting end waits for a proof of the key.
    const hasAlert = purpose !== purposes.messages && offer !== 'TLS 1.3';
    expect(recordsFrom(network, purpose, 0).includes('alert')).toBe(hasAlert);
  });
});
