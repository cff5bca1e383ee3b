import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  browserPath,
  nextFrames,
  openBrowser,
  pictureFile,
  recordTimeline,
  removeTimeline,
  showTimeline,
  titleOf,
} from './trace-picture.ts';

describe.skipIf(!existsSync(browserPath))('the timeline of a job in speedscope', () => {
  let browser: Browser;
  let timeline: string;
  beforeAll(async () => {
    timeline = await recordTimeline();
    browser = await openBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    if (timeline) removeTimeline(timeline);
  });

  it('shows a track for each rank', async () => {
    const page = await browser.newPage();
    const errors: string[] = [];
    page.on('pageerror', (error) => errors.push(error.message));
    await showTimeline(page, timeline);
    const first = await page.screenshot();
    for (const rank of [1, 2]) {
      // The key for the next track. A thread may have several.
      while (!(await titleOf(page, rank).isVisible())) {
        await page.keyboard.press('n');
        await nextFrames(page);
      }
    }
    expect(first.equals(await page.screenshot())).toBe(false);
    expect(errors).toEqual([]);
  });

  it('is shown by the guide', () => {
    const guide = readFileSync(path.join(path.dirname(pictureFile), '../guides/observe.md'), 'utf8');
    expect(guide).toContain(`](../figures/${path.basename(pictureFile)})`);
    // The signature of PNG.
    expect([...readFileSync(pictureFile).subarray(1, 4)]).toEqual([...Buffer.from('PNG')]);
  });
});
