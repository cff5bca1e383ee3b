import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { LongCall, LongCallReport } from './fixtures/meanwhile.js';
import { Members } from './members.js';

// Some ten slices.
const length = 12_000_000;

/** Calls that last for long, while their programs do something else. */
describe.each(['shared-memory', 'tcp'] as const)('a long call over %s', (transport) => {
  let members: Members;
  beforeAll(async () => {
    members = await Members.start(2);
  });
  afterAll(() => members[Symbol.asyncDispose]());
  beforeEach(async () => {
    await members.open({ transport });
  });

  const run = (...calls: readonly Omit<LongCall, 'length'>[]) =>
    Promise.all(
      members.all.map((member, rank) =>
        member.ask<LongCallReport>({ do: 'call', length, ...(calls[rank] ?? (calls[0] as LongCall)) }),
      ),
    );

  it('lets the event loop run while it executes', async () => {
    for (const { wasUnderWay, isRight, turns } of await run({ meanwhile: 'nothing' })) {
      expect(isRight).toBe(true);
      expect(wasUnderWay).toBe(true);
      expect(turns).toBeGreaterThan(1);
    }
  });

  it.each(['detach', 'resize'] as const)(
    'ends with an error on the rank that detaches its memory: %s',
    async (meanwhile) => {
      const [first, second] = (await run({ meanwhile }, { meanwhile: 'nothing' })) as [LongCallReport, LongCallReport];
      expect(first).toMatchObject({ wasUnderWay: true, code: 'ERR_COLL_BUFFER', rank: 0 });
      // What the group's thread has taken over by then goes on without that memory.
      if (!second.isRight) expect(second).toMatchObject({ code: 'ERR_COLL_PEER_FAILED', rank: 0 });
    },
  );

  it('completes even if one rank or both ranks block their event loops meanwhile', async () => {
    for (const other of ['nothing', 'compute'] as const) {
      const reports = await run({ meanwhile: 'compute' }, { meanwhile: other });
      expect(reports).toMatchObject([{ isRight: true }, { isRight: true }]);
    }
  });

  it('completes even if another rank makes it synchronously', async () => {
    for (const meanwhile of ['nothing', 'compute'] as const) {
      const reports = await run({ meanwhile }, { meanwhile: 'nothing', blocks: true });
      expect(reports).toMatchObject([{ isRight: true }, { isRight: true }]);
    }
  });

  it('completes although its rank tries a synchronous call meanwhile, which is refused', async () => {
    const [first, second] = await run({ meanwhile: 'block' }, { meanwhile: 'nothing' });
    expect(first).toMatchObject({ isRight: true, blocked: 'ERR_COLL_BUSY' });
    expect(second).toMatchObject({ isRight: true });
  });

  it.each([
    ['a signal', 'abort', 'ERR_COLL_ABORTED'],
    ['close', 'leave', 'ERR_COLL_CLOSED'],
  ] as const)('is ended on all ranks by %s during the call', async (_, meanwhile, code) => {
    const reports = await run({ meanwhile }, { meanwhile: 'nothing' });
    expect(reports).toMatchObject([{ code }, { code }]);
  });

  it('is ended by its deadline during the call', async () => {
    const late = { meanwhile: 'compute', computesSeconds: 4 } as const;
    const reports = await run({ meanwhile: 'nothing', timeoutSeconds: 1 }, late);
    const [first, second] = reports as [LongCallReport, LongCallReport];
    expect(first).toMatchObject({ code: 'ERR_COLL_DEADLINE' });
    expect(first.message).toMatch(/waiting for other workers: rank 1 called all-reduce sum, but did not finish it/);
    expect(second.message).toBe(first.message);
  });
});
