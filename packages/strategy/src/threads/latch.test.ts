import { describe, expect, it, vi } from 'vitest';
import { Latch } from './latch.js';

describe('Latch', () => {
  it('resolves for those who wait when it opens, and for later ones', async () => {
    const latch = new Latch();
    const waiting = latch.opens(60_000);
    latch.open();
    latch.open();
    expect(await waiting).toBe(true);
    expect(await latch.opens(0)).toBe(true);
  });

  it('stops waiting when the given signal is aborted', async () => {
    vi.useFakeTimers();
    try {
      const waiting = new Latch().opens(1000);
      vi.advanceTimersByTime(1000);
      expect(await waiting).toBe(false);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});
