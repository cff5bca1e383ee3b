import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { announce, showPhase } from './progress.mjs';

let printed: string[];
beforeEach(() => {
  printed = [];
  vi.useFakeTimers();
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    printed.push(String(text).trimEnd());
    return true;
  });
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

describe.skipIf(process.stderr.isTTY)('outside a terminal', () => {
  it('a phase prints how long it usually takes, its progress every ten seconds, and its end', () => {
    const phase = showPhase('engine', 'the engine', 60);
    vi.advanceTimersByTime(9_000);
    expect(printed).toEqual(['engine: the engine, usually about 60 s ...']);
    phase.detail('[2/10] Building');
    vi.advanceTimersByTime(11_000);
    phase.end('done');
    vi.advanceTimersByTime(60_000);
    expect(printed.slice(1)).toEqual([
      'engine: 10 s, usually about 60 s · [2/10] Building',
      'engine: 20 s, usually about 60 s · [2/10] Building',
      'engine: done, 20.0 s',
    ]);
  });

  it('a command prints how long it usually takes, and every ten seconds that it runs', () => {
    const end = announce('tests', 'all', 330);
    vi.advanceTimersByTime(25_000);
    end();
    vi.advanceTimersByTime(60_000);
    expect(printed).toEqual(['tests: all, usually about 6 minutes ...', 'tests: 10 s', 'tests: 20 s']);
  });
});
