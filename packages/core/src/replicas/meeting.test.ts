import { describe, expect, it, vi } from 'vitest';
import { Meeting } from './meeting.js';

/** A meeting that gives each rank all inputs, after its own number. */
function echo(size: number) {
  const hold = vi.fn(async (inputs: readonly string[]) => inputs.map((_, rank) => `${rank}: ${inputs.join('')}`));
  return { hold, meeting: new Meeting<string, string>(size, hold) };
}

describe('a meeting', () => {
  it('is held once for all, with the inputs in rank order', async () => {
    const { hold, meeting } = echo(3);
    const outcomes = [meeting.join(2, 'c'), meeting.join(0, 'a'), meeting.join(1, 'b')];
    expect(await Promise.all(outcomes)).toEqual(['2: abc', '0: abc', '1: abc']);
    expect(hold.mock.calls).toEqual([[['a', 'b', 'c']]]);
  });

  it('is not held before all are there', async () => {
    const { hold, meeting } = echo(2);
    const first = meeting.join(0, 'a');
    await Promise.resolve();
    expect(hold).not.toHaveBeenCalled();
    await Promise.all([first, meeting.join(1, 'b')]);
    expect(hold).toHaveBeenCalledOnce();
  });

  it('takes the n-th call of each rank, however far one is ahead', async () => {
    const { meeting } = echo(2);
    const ahead = ['a', 'b', 'c'].map((input) => meeting.join(0, input));
    const behind = ['x', 'y', 'z'].map((input) => meeting.join(1, input));
    expect(await Promise.all(ahead)).toEqual(['0: ax', '0: by', '0: cz']);
    expect(await Promise.all(behind)).toEqual(['1: ax', '1: by', '1: cz']);
  });

  it('begins when the one before has ended', async () => {
    const log: string[] = [];
    let finish = () => {};
    const meeting = new Meeting<string, undefined>(1, async ([input]) => {
      log.push(`${input} begins`);
      if (input === 'first') await new Promise<void>((resolve) => (finish = resolve));
      log.push(`${input} ends`);
      return [undefined];
    });
    const both = [meeting.join(0, 'first'), meeting.join(0, 'second')];
    await Promise.resolve();
    await Promise.resolve();
    expect(log).toEqual(['first begins']);
    finish();
    await Promise.all(both);
    expect(log).toEqual(['first begins', 'first ends', 'second begins', 'second ends']);
  });

  it('tells everybody why it failed, and leaves the next one alone', async () => {
    const failing = vi.fn().mockRejectedValueOnce(new Error('broken')).mockResolvedValueOnce(['x', 'y']);
    const meeting = new Meeting<string, string>(2, failing);
    const calls = [meeting.join(0, 'a'), meeting.join(1, 'b'), meeting.join(0, 'c'), meeting.join(1, 'd')];
    const settled = await Promise.allSettled(calls);
    expect(settled.map((call) => (call.status === 'fulfilled' ? call.value : call.reason.message))).toEqual([
      'broken',
      'broken',
      'x',
      'y',
    ]);
  });

  it('is failed for all who wait for others, but not for one that is being held', async () => {
    const { meeting } = echo(2);
    const held = [meeting.join(0, 'a'), meeting.join(1, 'b')];
    const waiting = [meeting.join(0, 'c'), meeting.join(0, 'd')];
    meeting.fail(new Error('closed'));
    await expect(Promise.allSettled(waiting)).resolves.toMatchObject([
      { reason: { message: 'closed' } },
      { reason: { message: 'closed' } },
    ]);
    await expect(Promise.all(held)).resolves.toEqual(['0: ab', '1: ab']);
  });

  it('knows who is missing from the next one', async () => {
    const { meeting } = echo(3);
    expect(meeting.missing()).toEqual([0, 1, 2]);
    const joined = [meeting.join(1, 'b'), meeting.join(1, 'b')];
    expect(meeting.missing()).toEqual([0, 2]);
    joined.push(meeting.join(0, 'a'), meeting.join(2, 'c'));
    expect(meeting.missing()).toEqual([0, 2]);
    joined.push(meeting.join(0, 'a'), meeting.join(2, 'c'));
    await Promise.all(joined);
  });
});
