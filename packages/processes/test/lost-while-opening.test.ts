import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Distance, ownAddress } from './distant-store.js';
import { Members } from './members.js';

// Longer than a test may take: who is lost is named long before.
const patience = { timeoutSeconds: 600, heartbeatSeconds: 1 };

describe.skipIf(ownAddress === undefined)('a member on another host that is killed while the group opens', () => {
  let members: Members;
  beforeEach(async () => {
    members = await Members.start(3);
  });
  afterEach(() => members[Symbol.asyncDispose]());

  const options = () => ({
    generation: members.nextGeneration(),
    host: ownAddress,
    insecure: true,
    ...patience,
  });
  type Options = ReturnType<typeof options>;
  const failure = (rank: number, opening: Options, distance: Distance) =>
    (members.all[rank] as Members['all'][0]).failure({ do: 'open', options: opening, distance });

  /** A member that ends by a signal, when the others have come so far. */
  async function end(rank: number, opening: Options, distance: Distance, keys: readonly string[]): Promise<void> {
    const member = members.all[rank] as Members['all'][0];
    const lost = member.ask({ do: 'open', options: opening, distance }).catch(() => {});
    await using store = await members.store();
    for (const key of keys) await store.get(`job/test/generation/${opening.generation}/${key}`);
    member.child.kill('SIGKILL');
    await lost;
  }

  // Firewalls refuse whoever is lower in rank: a group needs no more than that the higher one can connect.
  const distanceOf = (rank: number): Distance => ({ hidden: [0, 1, 2].filter((other) => other > rank) });

  it.each([0, 1, 2])('is named on all others if it is rank %i and was already connected', async (victim) => {
    const others = [0, 1, 2].filter((rank) => rank !== victim);
    const opening = options();
    const waiting = others.map((rank) => failure(rank, opening, distanceOf(rank)));
    const stuck = { ...distanceOf(victim), stuckBefore: 'opened' };
    const connected = others.map((rank) => `opened/${rank}`);
    await end(victim, opening, stuck, connected);
    for (const error of await Promise.all(waiting)) expectNamed(error, victim);
  });

  it.each([0, 1, 2])('is named on all others if it is rank %i and had only registered in the store', async (victim) => {
    const [early, late] = [0, 1, 2].filter((rank) => rank !== victim) as [number, number];
    const opening = options();
    const waiting = failure(early, opening, distanceOf(early));
    await end(victim, opening, distanceOf(victim), [`peers/${victim}`, `peers/${early}`]);
    for (const error of [await failure(late, opening, distanceOf(late)), await waiting]) expectNamed(error, victim);
  });

  function expectNamed(error: object, rank: number): void {
    // A host whose process has never connected looks like a firewall.
    const refused = `rank \\d on \\S+ cannot connect to rank ${rank} on host-${rank} at .*: connection refused; `;
    expect(error).toMatchObject({
      name: 'UnavailableError',
      code: 'ERR_COLL_PEER_FAILED',
      rank,
      operation: 'open a group',
      message: expect.stringMatching(
        new RegExp(`^(rank ${rank} on host-${rank} exited before the group was open: |${refused}).*next generation`),
      ),
    });
  }
});
